"""A statement that the database works on meanwhile: it begins at once, and fails as any other does."""

import time

import pytest
from django.db import DataError, connection, transaction

from lib.meanwhile import asked

pytestmark = [pytest.mark.django_db, pytest.mark.real_clock]

_NAP = 0.3  # seconds


def test_rows_come_as_from_any_other_cursor() -> None:
    with asked("SELECT n, %s::uuid IS NULL FROM generate_series(1, 2) AS n", [None]) as rows:
        found = rows()

    assert found == [(1, True), (2, True)]


def test_the_database_works_while_python_does() -> None:
    began = time.monotonic()

    with asked("SELECT pg_sleep(%s)", [_NAP]) as rows:
        time.sleep(_NAP)
        rows()

    assert time.monotonic() - began < 1.6 * _NAP


def test_it_sees_what_its_transaction_has_written() -> None:
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("CREATE TEMPORARY TABLE seen AS SELECT 1 AS n")

        with asked("SELECT n FROM seen", []) as rows:
            assert rows() == [(1,)]


@pytest.mark.parametrize("waits", [True, False])
def test_what_fails_fails_as_a_statement_of_django_and_leaves_a_usable_connection(waits: bool) -> None:
    def divide() -> None:
        with transaction.atomic(), asked("SELECT 1 / %s", [0]) as rows:
            if waits:
                rows()

    with pytest.raises(DataError):
        divide()

    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")
        assert cursor.fetchall() == [(1,)]
