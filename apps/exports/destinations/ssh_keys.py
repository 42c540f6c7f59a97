"""SSH keys: host keys of servers, and key pairs for signing in."""

import base64
import binascii
import hashlib
from dataclasses import dataclass
from typing import Final

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

# Types of host keys in order of preference, and the names of their signature algorithms.
SIGNATURES: Final = {
    "ssh-ed25519": "ssh-ed25519",
    "ecdsa-sha2-nistp256": "ecdsa-sha2-nistp256",
    "ecdsa-sha2-nistp384": "ecdsa-sha2-nistp384",
    "ecdsa-sha2-nistp521": "ecdsa-sha2-nistp521",
    "ssh-rsa": "rsa-sha2-512,rsa-sha2-256",  # never SHA-1
}


class BadKey(ValueError):
    """The text is not a valid key; `locked`: it is a key with a passphrase."""

    def __init__(self, *, locked: bool = False) -> None:
        super().__init__("key")
        self.locked = locked


@dataclass(frozen=True, slots=True)
class HostKey:
    """The public key of a server, as in known_hosts."""

    type: str
    base64: str

    def __str__(self) -> str:
        return f"{self.type} {self.base64}"

    @property
    def fingerprint(self) -> str:
        """Return the fingerprint as `ssh-keygen -l` prints it: `SHA256:` and 43 characters."""
        digest = hashlib.sha256(base64.b64decode(self.base64)).digest()
        return f"SHA256:{base64.b64encode(digest).decode().rstrip('=')}"


def host_key(text: str) -> HostKey:
    """Parse a host key: type and base64, with an optional comment.

    Raises:
        BadKey: it is invalid, or of a type that is no longer accepted.
    """
    words = text.split()
    if len(words) < 2 or words[0] not in SIGNATURES or "\n" in text.strip():
        raise BadKey
    try:
        base64.b64decode(words[1], validate=True)
        serialization.load_ssh_public_key(f"{words[0]} {words[1]}".encode())
    except (binascii.Error, ValueError, UnsupportedAlgorithm):
        raise BadKey from None
    return HostKey(words[0], words[1])


def private_key(text: str) -> str:
    """Convert a private key without passphrase, in OpenSSH or PEM format, to OpenSSH format.

    Raises:
        BadKey: it is invalid, or has a passphrase.
    """
    data = text.strip().encode() + b"\n"
    load = serialization.load_ssh_private_key if b"BEGIN OPENSSH" in data else serialization.load_pem_private_key
    try:
        key = load(data, password=None)
        return _in_openssh_format(key)
    except TypeError:  # the library's error for a missing passphrase
        raise BadKey(locked=True) from None
    except (ValueError, UnsupportedAlgorithm) as error:
        raise BadKey(locked="encrypted" in str(error) or "bcrypt" in str(error)) from None


def new_private_key() -> str:
    """Generate an ed25519 key."""
    return _in_openssh_format(Ed25519PrivateKey.generate())


def public_line(private: str, comment: str) -> str:
    """Return the line of authorized_keys for a private key from `private_key`."""
    key = serialization.load_ssh_private_key(private.encode(), password=None)
    line = key.public_key().public_bytes(serialization.Encoding.OpenSSH, serialization.PublicFormat.OpenSSH)
    return f"{line.decode()} {comment}"


def _in_openssh_format(key: object) -> str:
    key_format = serialization.PrivateFormat.OpenSSH
    text: bytes = key.private_bytes(serialization.Encoding.PEM, key_format, serialization.NoEncryption())  # type: ignore[attr-defined]  # missing in the stubs
    return text.decode()
