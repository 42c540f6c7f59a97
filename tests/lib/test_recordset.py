"""Many rows in one parameter."""

import datetime as dt
from uuid import UUID

import orjson
import pytest
from django.db import connection

from lib import recordset
from tests.factories import NOW


@pytest.mark.django_db
def test_rows_come_out_as_they_went_in() -> None:
    kinds = {"id": "uuid", "at": "timestamptz", "count": "smallint", "text": "varchar", "data": "jsonb", "none": "inet"}
    rows = [
        {"id": UUID(int=1), "at": NOW, "count": 7, "text": "it's “%s” \\ {x}", "data": orjson.Fragment('{"a": 1}')},
        {"id": UUID(int=2), "at": NOW + dt.timedelta(microseconds=1), "count": None, "text": "", "data": None},
    ]

    with connection.cursor() as cursor:
        sql = f"SELECT * FROM {recordset.source(kinds, name='came')}"  # noqa: S608  # of this test
        cursor.execute(sql, {"rows": recordset.rows(rows)})
        found = cursor.fetchall()

    assert found == [
        (UUID(int=1), NOW, 7, "it's “%s” \\ {x}", '{"a": 1}', None),
        (UUID(int=2), NOW + dt.timedelta(microseconds=1), None, "", None, None),
    ]


@pytest.mark.django_db
def test_ids_are_an_array() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT %s::uuid[], %s::uuid[]", [recordset.ids([UUID(int=1), UUID(int=2)]), recordset.ids([])])

        assert cursor.fetchone() == ([UUID(int=1), UUID(int=2)], [])
