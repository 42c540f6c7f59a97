"""Binary cursors: values as from any other, counted and failing as Django's do."""

import datetime as dt
from typing import Any
from uuid import UUID

import pytest
from django.db import DataError, connection, transaction

from lib.binary import binary_cursor

pytestmark = pytest.mark.django_db

_ID = UUID(int=7)
_AT = dt.datetime(2026, 11, 20, 15, 0, 0, 123456, tzinfo=dt.UTC)
_ASK = "SELECT %s::uuid, %s::timestamptz, 7::smallint, true, NULL::inet, 'x'::varchar, '\\x00ff'::bytea"


def test_values_are_those_of_any_other_cursor() -> None:
    found = []
    for opened in (connection.cursor, binary_cursor):
        with opened() as cursor:
            cursor.execute(_ASK, [_ID, _AT])
            found.append([bytes(one) if isinstance(one, memoryview) else one for one in cursor.fetchone()])

    assert found[0] == found[1] == [_ID, _AT, 7, True, None, "x", b"\x00\xff"]


def test_statements_are_counted_and_fail_as_djangos(django_assert_num_queries: Any) -> None:
    with django_assert_num_queries(1), binary_cursor() as cursor:
        cursor.execute("SELECT 1")
    with pytest.raises(DataError), transaction.atomic(), binary_cursor() as cursor:
        cursor.execute("SELECT 1 / 0")
