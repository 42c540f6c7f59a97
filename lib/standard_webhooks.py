"""Standard Webhooks 1.0.0 on the wire: secrets and headers.

HMAC signatures (`v1`) are those of the `standardwebhooks` library; Ed25519 (`v1a`), which it does not have, is here.
Source: https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md
"""

import base64
import binascii
import os
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final, Protocol

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat
from standardwebhooks.webhooks import Webhook

SECRET_PREFIX: Final = "whsec_"  # noqa: S105  # the prefix of secrets, not a secret
PUBLIC_PREFIX: Final = "whpk_"
SECRET_BYTES: Final = range(24, 65)  # what the specification allows; the library accepts any length
_NEW_SECRET_BYTES: Final = 32


class BadSecret(ValueError):
    """The text is not `whsec_` and the base64 of 24 to 64 bytes."""


class Signer(Protocol):
    """Signs `msg_id.timestamp.data` and names its scheme: `v1,<base64>`; `timestamp` is in UTC."""

    def sign(self, msg_id: str, timestamp: datetime, data: str) -> str: ...


@dataclass(frozen=True, slots=True)
class Ed25519:
    """Signs with a private key for receivers that have the public key: scheme `v1a`."""

    key: Ed25519PrivateKey

    def sign(self, msg_id: str, timestamp: datetime, data: str) -> str:
        content = f"{msg_id}.{int(timestamp.timestamp())}.{data}".encode()
        return "v1a," + base64.b64encode(self.key.sign(content)).decode()


def headers(event_id: str, *, timestamp: int, body: bytes, signers: Sequence[Signer]) -> dict[str, str]:
    """Build the three headers of a message, with one signature per signer; `timestamp` is Unix seconds."""
    # The library replaces the zone of the instant by UTC without converting it.
    signed_at, data = datetime.fromtimestamp(timestamp, UTC), body.decode()
    return {
        "webhook-id": event_id,
        "webhook-timestamp": str(timestamp),
        "webhook-signature": " ".join(signer.sign(event_id, signed_at, data) for signer in signers),
    }


def new_secret() -> str:
    """Generate a secret of 32 random bytes."""
    return SECRET_PREFIX + base64.b64encode(os.urandom(_NEW_SECRET_BYTES)).decode()


def hmac_of(secret: str) -> Webhook:
    """Return the signer and verifier of a secret.

    Raises:
        BadSecret: not `whsec_` and the base64 of 24 to 64 bytes.
    """
    encoded = secret.removeprefix(SECRET_PREFIX)
    try:
        key = base64.b64decode(encoded, validate=True)
    except (binascii.Error, ValueError):
        raise BadSecret from None
    if encoded == secret or len(key) not in SECRET_BYTES:
        raise BadSecret
    return Webhook(key)


def new_private_key() -> str:
    """Generate an Ed25519 key, as base64 of its 32 bytes."""
    raw = Ed25519PrivateKey.generate().private_bytes(Encoding.Raw, PrivateFormat.Raw, NoEncryption())
    return base64.b64encode(raw).decode()


def ed25519_of(private_key: str) -> Ed25519:
    """Parse a key of `new_private_key`."""
    return Ed25519(Ed25519PrivateKey.from_private_bytes(base64.b64decode(private_key)))


def public_bytes(signer: Ed25519) -> bytes:
    """Return the 32 bytes of the public key."""
    return signer.key.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)
