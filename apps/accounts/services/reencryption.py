"""Re-encrypts values of every table under the newest key while the service is running.

An encrypted column is a BinaryField `<name>_encrypted` whose bytes open with `<table>.<name>.<row id>` (lib/crypto.py);
besides those there are the TOTP secrets that allauth keeps in JSON.
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
_SEEDS: Final = ("secret", "seed")  # keys of Authenticator.data: of an app's codes, of recovery codes
_UNREADABLE: Final = (KeyError, InvalidTag)

Row = tuple[Any, Any]  # its key, and what it holds


@dataclass(slots=True)
class Progress:
    """How far one column is."""

    column: str
    seen: int = 0
    reencrypted: int = 0
    # Keys of rows that no key of the ring opens.
    unreadable: list[Any] = field(default_factory=list)


def encrypted_columns() -> list[tuple[type[models.Model], str]]:
    """List every encrypted column: its model, and its name with the suffix."""
    return sorted(
        (
            (model, column.name)
            for model in apps.get_models()
            for column in model._meta.local_concrete_fields
            if isinstance(column, models.BinaryField) and column.name.endswith(SUFFIX)
        ),
        key=lambda found: (found[0]._meta.db_table, found[1]),
    )


def reencrypt(*, by: Principal, rows_at_once: int, tell: Callable[[Progress], None]) -> list[Progress]:
    """Re-encrypt all values once, in batches that each commit; calls `tell` with the progress of each batch.

    Only values under an earlier key are written, and only where they are still what was read: a change that came
    between stays.  Neither versions nor times of change move.  Stopped at any point it can be run again, and goes on
    where something is left.  A model with large rows limits a batch by `REENCRYPTED_AT_ONCE`.  Costs
    two queries a batch, and an update for each value that is re-encrypted.
    """
    columns = [_reencrypt_column(model, name, rows_at_once, tell) for model, name in encrypted_columns()]
    columns.append(_go_through(Progress("mfa_authenticator.data"), Authenticator, "data", rows_at_once, tell, _seeds))
    audit.record(
        by=by,
        action="keys.reencrypt",
        subject_type="key",
        outcome="failed" if any(one.unreadable for one in columns) else "done",
        details={one.column: one.reencrypted for one in columns if one.reencrypted},
    )
    return columns


def _reencrypt_column(
    model: type[models.Model], name: str, rows_at_once: int, tell: Callable[[Progress], None]
) -> Progress:
    column = name.removesuffix(SUFFIX)

    def anew(key: UUID, held: Any) -> bytes | None:
        encrypted = bytes(held)
        if key_of(encrypted) == newest_key():
            return None
        bound_to = aad(model, column, key)
        return encrypt_bytes(decrypt_bytes(encrypted, aad=bound_to), aad=bound_to)

    most = min(rows_at_once, getattr(model, "REENCRYPTED_AT_ONCE", rows_at_once))
    return _go_through(Progress(f"{model._meta.db_table}.{column}"), model, name, most, tell, anew)


def _seeds(key: Any, held: dict[str, Any]) -> dict[str, Any] | None:
    old = {name: held[name] for name in _SEEDS if name in held and totp_secrets.key_id(held[name]) != newest_key()}
    return (
        {**held, **{name: totp_secrets.encrypt(totp_secrets.decrypt(text)) for name, text in old.items()}}
        if old
        else None
    )


def _go_through(
    progress: Progress,
    model: type[models.Model],
    name: str,
    rows_at_once: int,
    tell: Callable[[Progress], None],
    anew: Callable[[Any, Any], Any],
) -> Progress:
    for batch in _batches(model, name, rows_at_once):
        with transaction.atomic():
            for key, held in batch:
                progress.seen += 1
                try:
                    value = anew(key, held) if held else None
                except _UNREADABLE:
                    progress.unreadable.append(key)
                    continue
                if value is not None:
                    unchanged = model._default_manager.filter(pk=key, **{name: held})
                    progress.reencrypted += unchanged.update(**{name: value})
        tell(progress)
    return progress


def _batches(model: type[models.Model], name: str, rows_at_once: int) -> Iterator[list[Row]]:
    """Read a table by its key, so many rows at once; no statement takes longer as the table grows."""
    rows = model._default_manager.order_by("pk").values_list("pk", name)
    batch = list(rows[:rows_at_once])
    while batch:
        yield batch
        batch = list(rows.filter(pk__gt=batch[-1][0])[:rows_at_once])
