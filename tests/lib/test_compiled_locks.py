"""A query after a lock in one round trip sees what the holder of the lock had written: booking rests on it."""

from concurrent.futures import ThreadPoolExecutor
from uuid import UUID

import pytest
from django.db import connection, transaction

from apps.organizations.models import Facility
from lib.compiled import Compiled, together
from tests import factories
from tests.locks import wait_until_somebody_waits

pytestmark = pytest.mark.django_db(transaction=True)
LOCKED: Compiled[Facility] = Compiled(lambda pk: Facility.objects.select_for_update(no_key=True).filter(pk=pk), pk=UUID)
# Of another row: the lock alone would bring the newest version of its own.
NAME: Compiled[tuple[str]] = Compiled(lambda pk: Facility.objects.filter(pk=pk).values_list("name"), pk=UUID)


def name_read_after_waiting_for_the_lock(*, isolation: str) -> str:
    """Rename a facility while holding the lock of another, for which a second caller waits; answer what they read."""
    gate, other = factories.FacilityFactory.create(), factories.FacilityFactory.create(name="Before")

    def wait_and_read() -> str:
        try:
            with transaction.atomic():
                with connection.cursor() as cursor:
                    cursor.execute(f"SET TRANSACTION ISOLATION LEVEL {isolation}")
                _, names = together(LOCKED.asked(pk=gate.pk), NAME.asked(pk=other.pk))
                return str(names[0][0])
        finally:
            connection.close()

    with ThreadPoolExecutor(1) as second:
        with transaction.atomic():
            LOCKED.one(pk=gate.pk)
            Facility.objects.filter(pk=other.pk).update(name="After")
            reading = second.submit(wait_and_read)
            wait_until_somebody_waits()
        return reading.result(timeout=20)


def test_what_comes_after_the_lock_sees_what_its_holder_wrote() -> None:
    assert name_read_after_waiting_for_the_lock(isolation="READ COMMITTED") == "After"


def test_with_one_snapshot_for_all_it_would_read_the_past() -> None:
    """The control: the same on an isolation level that takes one snapshot for the whole transaction."""
    assert name_read_after_waiting_for_the_lock(isolation="REPEATABLE READ") == "Before"
