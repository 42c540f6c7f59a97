"""What a test leaves behind is gone before the next one: rows, and the room of those that were rolled back."""

from typing import Any

import pytest
from django.contrib.auth.models import Permission
from django.contrib.contenttypes.models import ContentType
from django.db import OperationalError, connection, transaction
from psycopg.errors import LockNotAvailable

from apps.audit.models import AuditEntry
from apps.audit.services import audit
from apps.rides.models import Ride
from lib.access import system
from tests import emptying, factories

pytestmark = pytest.mark.django_db(transaction=True)


def _size(table: str) -> int:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_relation_size(%s)", [table])
        return int(cursor.fetchone()[0])


def _rows() -> tuple[int, int]:
    return Ride.objects.count(), AuditEntry.objects.count()


@pytest.mark.parametrize("large", [0, emptying._LARGE])
def test_rows_are_gone_and_what_migrations_made_stays(large: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(emptying, "_LARGE", large)
    factories.put_driver_on(factories.RideFactory.create())
    audit.record(by=system(), action="sign_in")
    before, made = _rows(), (ContentType.objects.count(), Permission.objects.count())

    emptying.after_commits()

    assert (before, _rows()) == ((1, 1), (0, 0))
    assert (ContentType.objects.count(), Permission.objects.count()) == made
    assert (_size("rides_ride") == 0) is (large == 0)


def test_whoever_is_still_at_it_is_waited_for() -> None:
    other: Any = connection.copy()
    try:
        with transaction.atomic(), other.cursor() as cursor:
            other.set_autocommit(False)
            cursor.execute("SELECT count(*) FROM rides_ride")
            with connection.cursor() as mine:
                mine.execute("SET LOCAL lock_timeout = 100")
            with pytest.raises(OperationalError) as refused:
                emptying.after_commits()
    finally:
        other.close()

    assert isinstance(refused.value.__cause__, LockNotAvailable)


def test_room_of_rows_that_were_rolled_back_is_given_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(emptying, "_roll_back", lambda _: None)
    monkeypatch.setattr(emptying, "_LARGE", 0)
    case: Any = None
    with transaction.atomic():
        factories.RideFactory.create()
        transaction.set_rollback(True)
    left = _size("rides_ride")

    emptying.after_rollback(case)

    assert (Ride.objects.count(), left > 0, _size("rides_ride")) == (0, True, 0)
    with transaction.atomic():  # a world that a module keeps
        factories.RideFactory.create()
        emptying.after_rollback(case)
        assert Ride.objects.count() == 1
