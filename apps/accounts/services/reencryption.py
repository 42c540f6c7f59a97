"""Re-encrypt the values of all tables under the newest key while the service is running.

An encrypted column is a BinaryField `<name>_encrypted` whose additional authenticated data is `<table>.<name>.<row id>`
(lib/crypto.py); in addition there are the TOTP secrets that allauth stores in JSON.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final
from uuid import UUID

from allauth.mfa.models import Authenticator
from cryptography.exceptions import InvalidTag
from django.apps import apps
from django.db import models, transaction

from apps.accounts import totp_secrets
from apps.audit.services import audit
from lib.access import Principal
from lib.crypto import aad, decrypt_bytes, encrypt_bytes, key_of, newest_key

SUFFIX: Final = "_encrypted"
# keys of Authenticator.data: the TOTP secret of an app, and the seed of recovery codes
_SEEDS: Final = ("secret", "seed")
_UNREADABLE: Final = (KeyError, InvalidTag)

Row = tuple[Any, Any]  # primary key and stored value


@dataclass(slots=True)
class ReencryptionProgress:
    """Progress of re-encryption in one column."""

    column: str
    seen: int = 0
    reencrypted: int = 0
    # Primary keys of rows that no configured key decrypts.
    unreadable: list[Any] = field(default_factory=list)


def encrypted_columns() -> list[tuple[type[models.Model], str]]:
    """List all encrypted columns: model, and column name with the suffix."""
    return sorted(
        (
            (model, column.name)
            for model in apps.get_models()
            for column in model._meta.local_concrete_fields
            if isinstance(column, models.BinaryField) and column.name.endswith(SUFFIX)
        ),
        key=lambda column: (column[0]._meta.db_table, column[1]),
    )


def reencrypt(
    *, by: Principal, rows_at_once: int, report: Callable[[ReencryptionProgress], None]
) -> list[ReencryptionProgress]:
    """Re-encrypt all values once, in batches that each commit; call `report` with the progress after each batch.

    Writes only values under an earlier key, and only if they are still as read, so that a concurrent change is not
    overwritten.  Versions and timestamps do not change.  After an interruption, a new run continues with the remaining
    values.  A model with large rows limits its batches by `REENCRYPTED_AT_ONCE`.  Two queries per batch, and one update
    per re-encrypted value.
    """
    columns = [_reencrypt_column(model, name, rows_at_once, report) for model, name in encrypted_columns()]
    columns.append(
        _reencrypt_rows(
            ReencryptionProgress("mfa_authenticator.data"),
            Authenticator,
            "data",
            rows_at_once,
            report,
            _reencrypted_seeds,
        )
    )
    audit.record(
        by=by,
        action="keys.reencrypt",
        subject_type="key",
        outcome="failed" if any(column.unreadable for column in columns) else "done",
        details={column.column: column.reencrypted for column in columns if column.reencrypted},
    )
    return columns


def _reencrypt_column(
    model: type[models.Model], name: str, rows_at_once: int, report: Callable[[ReencryptionProgress], None]
) -> ReencryptionProgress:
    column = name.removesuffix(SUFFIX)

    def reencrypted(key: UUID, stored: Any) -> bytes | None:
        encrypted = bytes(stored)
        if key_of(encrypted) == newest_key():
            return None
        bound_to = aad(model, column, key)
        return encrypt_bytes(decrypt_bytes(encrypted, aad=bound_to), aad=bound_to)

    most = min(rows_at_once, getattr(model, "REENCRYPTED_AT_ONCE", rows_at_once))
    return _reencrypt_rows(
        ReencryptionProgress(f"{model._meta.db_table}.{column}"), model, name, most, report, reencrypted
    )


def _reencrypted_seeds(key: Any, data: dict[str, Any]) -> dict[str, Any] | None:
    outdated = {name: data[name] for name in _SEEDS if name in data and totp_secrets.key_id(data[name]) != newest_key()}
    return (
        {**data, **{name: totp_secrets.encrypt(totp_secrets.decrypt(text)) for name, text in outdated.items()}}
        if outdated
        else None
    )


def _reencrypt_rows(
    progress: ReencryptionProgress,
    model: type[models.Model],
    name: str,
    rows_at_once: int,
    report: Callable[[ReencryptionProgress], None],
    reencrypted: Callable[[Any, Any], Any],
) -> ReencryptionProgress:
    for batch in _batches(model, name, rows_at_once):
        with transaction.atomic():
            for key, stored in batch:
                progress.seen += 1
                try:
                    value = reencrypted(key, stored) if stored else None
                except _UNREADABLE:
                    progress.unreadable.append(key)
                    continue
                if value is not None:
                    unchanged = model._default_manager.filter(pk=key, **{name: stored})
                    progress.reencrypted += unchanged.update(**{name: value})
        report(progress)
    return progress


def _batches(model: type[models.Model], name: str, rows_at_once: int) -> Iterator[list[Row]]:
    """Yield a table in batches ordered by primary key, so that no statement takes longer as the table grows."""
    rows = model._default_manager.order_by("pk").values_list("pk", name)
    batch = list(rows[:rows_at_once])
    while batch:
        yield batch
        batch = list(rows.filter(pk__gt=batch[-1][0])[:rows_at_once])
