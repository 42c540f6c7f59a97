"""Standard Webhooks 1.0.0 on the wire: secrets, what is signed, and how the signature is written.

Source: https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md
"""

import base64
import binascii
import hashlib
import hmac
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat

SECRET_PREFIX: Final = "whsec_"  # noqa: S105  # what secrets begin with, not one of them
PUBLIC_PREFIX: Final = "whpk_"
SECRET_BYTES: Final = range(24, 65)  # what the specification allows
_NEW_SECRET_BYTES: Final = 32
TOLERANCE: Final = 300  # seconds between two clocks: what the official libraries allow


class BadSecret(ValueError):
    """The text is not `whsec_` and the base64 of 24 to 64 bytes."""


class NotGenuine(ValueError):
    """What arrived was not signed under this secret, or not lately."""


@dataclass(frozen=True, slots=True)
class Hmac:
    """Signs with a secret that the receiver shares: scheme `v1`."""

    key: bytes
    _keyed: hmac.HMAC = field(init=False, repr=False, compare=False)  # to be copied: that is faster than to begin anew

    def __post_init__(self) -> None:
        object.__setattr__(self, "_keyed", hmac.new(self.key, digestmod=hashlib.sha256))

    def sign(self, content: bytes) -> str:
        signing = self._keyed.copy()
        signing.update(content)
        return "v1," + base64.b64encode(signing.digest()).decode()


@dataclass(frozen=True, slots=True)
class Ed25519:
    """Signs with a key whose public half anybody may read: scheme `v1a`."""

    key: Ed25519PrivateKey

    def sign(self, content: bytes) -> str:
        return "v1a," + base64.b64encode(self.key.sign(content)).decode()


Signer = Hmac | Ed25519


def headers(event_id: str, *, timestamp: int, body: bytes, signers: Sequence[Signer]) -> dict[str, str]:
    """Sign `id.timestamp.body`; `timestamp` is Unix seconds, and there is a signature for each signer."""
    content = f"{event_id}.{timestamp}.".encode() + body
    return {
        "webhook-id": event_id,
        "webhook-timestamp": str(timestamp),
        "webhook-signature": " ".join(signer.sign(content) for signer in signers),
    }


def verify(sent: Mapping[str, str], body: bytes, *, signer: Hmac, now: int) -> None:
    """Check what arrived, as a receiver does: one of its signatures is ours, and it is not a recording.

    `sent` are the headers, by names as they are asked for here; `now` is Unix seconds.

    Raises:
        NotGenuine: a header is missing, the timestamp is further off than TOLERANCE, or no signature matches.
    """
    try:
        event_id, timestamp, signatures = (sent[f"webhook-{name}"] for name in ("id", "timestamp", "signature"))
        off = abs(now - int(timestamp))
    except (KeyError, ValueError):
        raise NotGenuine from None
    wanted = signer.sign(f"{event_id}.{timestamp}.".encode() + body).encode()
    if off > TOLERANCE or not any(hmac.compare_digest(one.encode(), wanted) for one in signatures.split(" ")):
        raise NotGenuine


def new_secret() -> str:
    """Make a secret of 32 random bytes."""
    return SECRET_PREFIX + base64.b64encode(os.urandom(_NEW_SECRET_BYTES)).decode()


def hmac_of(secret: str) -> Hmac:
    """Read a secret.

    Raises:
        BadSecret: it is not one.
    """
    encoded = secret.removeprefix(SECRET_PREFIX)
    try:
        key = base64.b64decode(encoded, validate=True)
    except (binascii.Error, ValueError):
        raise BadSecret from None
    if encoded == secret or len(key) not in SECRET_BYTES:
        raise BadSecret
    return Hmac(key)


def new_private_key() -> str:
    """Make an ed25519 key, as base64 of its 32 bytes."""
    raw = Ed25519PrivateKey.generate().private_bytes(Encoding.Raw, PrivateFormat.Raw, NoEncryption())
    return base64.b64encode(raw).decode()


def ed25519_of(private_key: str) -> Ed25519:
    """Read a key that `new_private_key` made."""
    return Ed25519(Ed25519PrivateKey.from_private_bytes(base64.b64decode(private_key)))


def public_bytes(signer: Ed25519) -> bytes:
    """Give the 32 bytes of the public half."""
    return signer.key.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)
