"""Encrypted columns for secrets and for government, insurance and access codes, and blind indexes to find them by.

AES-256-GCM.  The key id precedes the bytes; table, column and row are authenticated with them, so that a value moved to
another row does not decrypt.  Keys come from settings, newest first: the first encrypts, all of them decrypt.
"""

import base64
import hashlib
import hmac
import os
from functools import lru_cache
from typing import Any

from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from django.conf import settings
from django.db import models

NONCE_BYTES = 12  # the length that GCM is specified for (NIST SP 800-38D, 8.2)


@lru_cache(maxsize=8)
def _ring(keys: tuple[str, ...]) -> dict[str, AESGCM]:
    ring = {}
    for entry in keys:
        key_id, _, encoded = entry.partition(":")
        ring[key_id] = AESGCM(base64.b64decode(encoded, validate=True))
    return ring


def aad(model: type[models.Model], name: str, pk: Any) -> str:
    """Say what the value of a row's column `<name>_encrypted` is bound to."""
    return f"{model._meta.db_table}.{name}.{pk}"


def encrypt(text: str, *, aad: str) -> bytes:
    """Encrypt under the newest key.  `aad` has to be the same to open it: of a column, what the function `aad` says."""
    return encrypt_bytes(text.encode(), aad=aad)


def encrypt_bytes(data: bytes, *, aad: str) -> bytes:
    """Encrypt what is no text, as `encrypt` does."""
    ring = _ring(tuple(settings.ENCRYPTION_KEYS))
    key_id, cipher = next(iter(ring.items()))
    nonce = os.urandom(NONCE_BYTES)
    return key_id.encode() + b":" + nonce + cipher.encrypt(nonce, data, aad.encode())


def newest_key() -> str:
    """Return the id of the newest key."""
    return next(iter(_ring(tuple(settings.ENCRYPTION_KEYS))))


def key_of(encrypted: bytes) -> str:
    """Return the id of the key of an encrypted value: its prefix."""
    return encrypted.partition(b":")[0].decode("ascii", "replace")


def decrypt(encrypted: bytes, *, aad: str) -> str:
    """Decrypt what `encrypt` made.

    Raises:
        KeyError: the key it was encrypted under is no longer in the ring.
        cryptography.exceptions.InvalidTag: the bytes were altered, or belong to another row.
    """
    return decrypt_bytes(encrypted, aad=aad).decode()


def decrypt_bytes(encrypted: bytes, *, aad: str) -> bytes:
    """Decrypt what `encrypt_bytes` made; raises as `decrypt` does."""
    key_id, _, rest = bytes(encrypted).partition(b":")
    cipher = _ring(tuple(settings.ENCRYPTION_KEYS))[key_id.decode()]
    return cipher.decrypt(rest[:NONCE_BYTES], rest[NONCE_BYTES:], aad.encode())


def blind_index(text: str, *, purpose: str) -> bytes:
    """Digest a code so that equal codes can be found without opening any; case and spaces do not count."""
    return keyed_digest("".join(text.split()).casefold().encode(), purpose=purpose)


def keyed_digest(data: bytes, *, purpose: str) -> bytes:
    """Digest what may hold a short secret, so that nobody without the key finds it by trying all of them."""
    return hmac.digest(settings.INDEX_KEY.encode(), purpose.encode() + b"\0" + data, hashlib.sha256)


def encrypted_value(model: type[models.Model], name: str, key: object, text: str) -> bytes | None:
    """Encrypt a value that `encrypted_text(name)` reads, for rows that are written without an object."""
    return encrypt(text, aad=aad(model, name, key)) if text else None


def encrypted_text(name: str, *, indexed: bool = False) -> property:
    """Make the property that reads and writes the column `<name>_encrypted` as text; "" stands for nothing stored.

    With `indexed`, writing also sets `<name>_index`.  The row's id has to be set first, as it is with UUID keys.
    """

    def read(row: Any) -> str:
        encrypted = getattr(row, f"{name}_encrypted")
        return decrypt(encrypted, aad=aad(type(row), name, row.pk)) if encrypted else ""

    def write(row: Any, text: str) -> None:
        setattr(row, f"{name}_encrypted", encrypted_value(type(row), name, row.pk, text))
        if indexed:
            purpose = f"{row._meta.db_table}.{name}"
            setattr(row, f"{name}_index", blind_index(text, purpose=purpose) if text else None)

    return property(read, write)


def encrypted_bytes(name: str) -> property:
    """Make the property that reads and writes the column `<name>_encrypted` as bytes; b"" stands for nothing stored.

    The row's id has to be set first.
    """

    def read(row: Any) -> bytes:
        encrypted = getattr(row, f"{name}_encrypted")
        return decrypt_bytes(encrypted, aad=aad(type(row), name, row.pk)) if encrypted else b""

    def write(row: Any, data: bytes) -> None:
        encrypted = encrypt_bytes(data, aad=aad(type(row), name, row.pk)) if data else None
        setattr(row, f"{name}_encrypted", encrypted)

    return property(read, write)
