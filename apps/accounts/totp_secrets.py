"""Secrets of second factors (TOTP, RFC 6238), encrypted for the text columns that allauth stores them in."""

import base64
from typing import Final

from lib import crypto

_AAD: Final = "mfa_authenticator.data"  # allauth encrypts before the row has an id, so the id cannot be part of it


def encrypt(text: str) -> str:
    """Encrypt under the newest key; returns base64."""
    return base64.b64encode(crypto.encrypt(text, aad=_AAD)).decode("ascii")


def decrypt(encrypted: str) -> str:
    """Decrypt a value from `encrypt`; raises the errors of `lib.crypto.decrypt`."""
    return crypto.decrypt(base64.b64decode(encrypted), aad=_AAD)


def key_id(encrypted: str) -> str:
    """Return the id of the key that a secret is encrypted under."""
    return crypto.key_of(base64.b64decode(encrypted))
