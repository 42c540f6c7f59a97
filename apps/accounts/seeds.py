"""Seeds of second factors, sealed for the text columns that allauth keeps them in."""

import base64
from typing import Final

from lib.crypto import key_of, seal, unseal

_AAD: Final = "mfa_authenticator.data"  # allauth seals before the row has an id, so the row cannot be part of it


def seal_seed(text: str) -> str:
    """Encrypt under the newest key; base64."""
    return base64.b64encode(seal(text, aad=_AAD)).decode("ascii")


def open_seed(sealed: str) -> str:
    """Decrypt what `seal_seed` made; raises as `lib.crypto.unseal`."""
    return unseal(base64.b64decode(sealed), aad=_AAD)


def key_of_seed(sealed: str) -> str:
    """Name the key that a seed is sealed under."""
    return key_of(base64.b64decode(sealed))
