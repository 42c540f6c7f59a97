"""Keys of SSH: those by which servers are known, and those by which servers know us."""

import base64
import binascii
import hashlib
from dataclasses import dataclass
from typing import Final

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

# Types of host keys, the one to agree on first where a server has several; and what their signatures are called.
SIGNATURES: Final = {
    "ssh-ed25519": "ssh-ed25519",
    "ecdsa-sha2-nistp256": "ecdsa-sha2-nistp256",
    "ecdsa-sha2-nistp384": "ecdsa-sha2-nistp384",
    "ecdsa-sha2-nistp521": "ecdsa-sha2-nistp521",
    "ssh-rsa": "rsa-sha2-512,rsa-sha2-256",  # never SHA-1
}


class BadKey(ValueError):
    """A text is no key of that sort; `locked`: it is one, but asks for a passphrase."""

    def __init__(self, *, locked: bool = False) -> None:
        super().__init__("key")
        self.locked = locked


@dataclass(frozen=True, slots=True)
class HostKey:
    """The public key of a server, as known_hosts has it behind the host."""

    type: str
    base64: str

    def __str__(self) -> str:
        return f"{self.type} {self.base64}"

    @property
    def fingerprint(self) -> str:
        """Give what `ssh-keygen -l` says of it: `SHA256:` and 43 characters."""
        digest = hashlib.sha256(base64.b64decode(self.base64)).digest()
        return f"SHA256:{base64.b64encode(digest).decode().rstrip('=')}"


def host_key(text: str) -> HostKey:
    """Read a host key: its type and base64, with a comment or not.

    Raises:
        BadKey: it is none, or of a type that is not accepted any more.
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
    """Read a private key without passphrase, of OpenSSH or PEM, and give it as OpenSSH writes it.

    Raises:
        BadKey: it is none, or has a passphrase.
    """
    data = text.strip().encode() + b"\n"
    load = serialization.load_ssh_private_key if b"BEGIN OPENSSH" in data else serialization.load_pem_private_key
    try:
        key = load(data, password=None)
        return _written(key)
    except TypeError:  # how the library says that there is a passphrase
        raise BadKey(locked=True) from None
    except (ValueError, UnsupportedAlgorithm) as trouble:
        raise BadKey(locked="encrypted" in str(trouble) or "bcrypt" in str(trouble)) from None


def new_private_key() -> str:
    """Make an ed25519 key."""
    return _written(Ed25519PrivateKey.generate())


def public_line(private: str, comment: str) -> str:
    """Give the line of authorized_keys that lets a private key of `private_key` in."""
    key = serialization.load_ssh_private_key(private.encode(), password=None)
    line = key.public_key().public_bytes(serialization.Encoding.OpenSSH, serialization.PublicFormat.OpenSSH)
    return f"{line.decode()} {comment}"


def _written(key: object) -> str:
    form = serialization.PrivateFormat.OpenSSH
    written: bytes = key.private_bytes(serialization.Encoding.PEM, form, serialization.NoEncryption())  # type: ignore[attr-defined]  # missing in the stubs
    return written.decode()
