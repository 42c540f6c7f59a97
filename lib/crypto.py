"""Encrypted columns for secrets and for government, insurance and access codes, and blind indexes to search them.

AES-256-GCM.  The key id is a prefix of the value; table, column and row are authenticated with it, so that a value that
is moved to another row does not decrypt.  Keys come from settings, newest first: the first key encrypts, all keys
decrypt.
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
    """Return the additional authenticated data for the column `<name>_encrypted` of a row."""
    return f"{model._meta.db_table}.{name}.{pk}"


def encrypt(text: str, *, aad: str) -> bytes:
    """Encrypt under the newest key.  Decrypting needs the same `aad`; for a column, use the function `aad`."""
    return encrypt_bytes(text.encode(), aad=aad)


def encrypt_bytes(data: bytes, *, aad: str) -> bytes:
    """Encrypt bytes, like `encrypt`."""
    ring = _ring(tuple(settings.ENCRYPTION_KEYS))
    key_id, cipher = next(iter(ring.items()))
    nonce = os.urandom(NONCE_BYTES)
    return key_id.encode() + b":" + nonce + cipher.encrypt(nonce, data, aad.encode())


def newest_key() -> str:
    """Return the id of the newest key."""
    return next(iter(_ring(tuple(settings.ENCRYPTION_KEYS))))


def key_of(encrypted: bytes) -> str:
    """Return the id of the key of an encrypted value, its prefix."""
    return encrypted.partition(b":")[0].decode("ascii", "replace")


def decrypt(encrypted: bytes, *, aad: str) -> str:
    """Decrypt a value from `encrypt`.

    Raises:
        KeyError: its key is no longer configured.
        cryptography.exceptions.InvalidTag: the bytes were altered, or belong to another row.
    """
    return decrypt_bytes(encrypted, aad=aad).decode()


def decrypt_bytes(encrypted: bytes, *, aad: str) -> bytes:
    """Decrypt a value from `encrypt_bytes`; raises the errors of `decrypt`."""
    key_id, _, rest = bytes(encrypted).partition(b":")
    cipher = _ring(tuple(settings.ENCRYPTION_KEYS))[key_id.decode()]
    return cipher.decrypt(rest[:NONCE_BYTES], rest[NONCE_BYTES:], aad.encode())


def blind_index(text: str, *, purpose: str) -> bytes:
    """Return a digest of a code for searching without decrypting; ignores case and spaces."""
    return keyed_digest("".join(text.split()).casefold().encode(), purpose=purpose)


def keyed_digest(data: bytes, *, purpose: str) -> bytes:
    """Return a keyed digest: without the key, short secrets cannot be found by trying all values."""
    return hmac.digest(settings.INDEX_KEY.encode(), purpose.encode() + b"\0" + data, hashlib.sha256)


def encrypted_value(model: type[models.Model], name: str, key: object, text: str) -> bytes | None:
    """Encrypt a value that `encrypted_text(name)` reads, for rows that are inserted without a model instance."""
    return encrypt(text, aad=aad(model, name, key)) if text else None


def encrypted_text(name: str, *, indexed: bool = False) -> property:
    """Return a property that reads and writes the column `<name>_encrypted` as text; null is read as "".

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
    """Return a property that reads and writes the column `<name>_encrypted` as bytes; null is read as b"".

    The row's id has to be set first.
    """

    def read(row: Any) -> bytes:
        encrypted = getattr(row, f"{name}_encrypted")
        return decrypt_bytes(encrypted, aad=aad(type(row), name, row.pk)) if encrypted else b""

    def write(row: Any, data: bytes) -> None:
        encrypted = encrypt_bytes(data, aad=aad(type(row), name, row.pk)) if data else None
        setattr(row, f"{name}_encrypted", encrypted)

    return property(read, write)
