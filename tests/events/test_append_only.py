"""Append-only history: not even the service can alter events, the audit trail or its seals."""

from collections.abc import Callable
from typing import Any, Final

import pytest
from django.db import InternalError, ProgrammingError, models, transaction

from apps.audit.models import AuditEntry, AuditSeal
from apps.audit.services import audit, audit_chain
from apps.events import services
from apps.events.models import Event
from lib.access import Principal
from lib.ids import uuid7
from tests.factories import NOW

Make = Callable[[Principal], models.Model]


def _event(by: Principal) -> Event:
    return services.record(
        type="ride.scheduled", subject_type="ride", subject_id=uuid7(), sequence=1, occurred_at=NOW, by=by
    )


def _entry(by: Principal) -> AuditEntry:
    audit.record(by=by, action="riders.read", rider_ids=[uuid7()])
    return AuditEntry.objects.get()


def _seal(by: Principal) -> AuditSeal:
    _entry(by)
    audit_chain.seal()
    return AuditSeal.objects.get()


ROWS: Final[list[tuple[Make, dict[str, Any]]]] = [
    (_event, {"type": "ride.completed"}),
    (_entry, {"rider_ids": []}),
    (_seal, {"digest": b"another"}),
]
NAMES: Final = ["event", "audit entry", "audit seal"]


def _is_refused() -> Any:
    return pytest.raises((ProgrammingError, InternalError), match="append-only")


@pytest.mark.parametrize(("make", "other"), ROWS, ids=NAMES)
def test_row_cannot_be_changed(dispatcher: Principal, make: Make, other: dict[str, Any]) -> None:
    row = make(dispatcher)
    rows = type(row)._default_manager.filter(pk=row.pk)
    before = rows.values().get()

    with _is_refused(), transaction.atomic():
        rows.update(**other)

    assert rows.values().get() == before


@pytest.mark.parametrize("make", [make for make, _ in ROWS], ids=NAMES)
def test_row_cannot_be_deleted(dispatcher: Principal, make: Make) -> None:
    row = make(dispatcher)
    rows = type(row)._default_manager.filter(pk=row.pk)

    with _is_refused(), transaction.atomic():
        rows.delete()

    assert rows.exists()
