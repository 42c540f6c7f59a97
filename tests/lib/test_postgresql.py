"""Pooled connections are checked without a round trip, and broken ones are found out all the same."""

import datetime as dt
from typing import Any
from unittest.mock import patch
from zoneinfo import ZoneInfo

import psycopg
import pytest
from django.conf import settings
from django.db import connections
from psycopg.pq import Format

from lib.postgresql.base import DatabaseWrapper, check_quickly

INSTANTS = psycopg.adapters.types["timestamptz"].oid


@pytest.fixture
def other(django_db_setup: None) -> Any:
    """A connection of its own to the server of the tests."""
    given = connections["default"].get_connection_params()
    names = ("host", "port", "user", "password", "dbname")
    with psycopg.connect(**{name: given[name] for name in names if given.get(name)}, autocommit=True) as session:
        yield session


def test_connection_that_stands_is_not_asked(other: Any) -> None:
    with patch.object(psycopg.Connection, "execute", side_effect=AssertionError("a round trip")):
        check_quickly(other)


def test_connection_that_the_server_ended_is_refused(other: Any) -> None:
    given = other.info
    with psycopg.connect(
        host=given.host, port=given.port, user=given.user, password=given.password, dbname=given.dbname, autocommit=True
    ) as operator:
        operator.execute("SELECT pg_terminate_backend(%s, 5000)", [given.backend_pid])

    with pytest.raises(psycopg.OperationalError):
        check_quickly(other)


def test_connection_with_something_to_say_is_asked_and_kept(other: Any) -> None:
    other.execute("LISTEN news")
    given = other.info
    with psycopg.connect(
        host=given.host, port=given.port, user=given.user, password=given.password, dbname=given.dbname, autocommit=True
    ) as herald:
        herald.execute("NOTIFY news")

    check_quickly(other)

    assert other.execute("SELECT 1").fetchone() == (1,)


def test_the_pool_of_the_service_checks_so() -> None:
    pool = connections["default"].pool  # type: ignore[attr-defined]  # of the PostgreSQL backend

    assert settings.DATABASES["default"]["CONN_HEALTH_CHECKS"]
    assert pool._check is check_quickly


@pytest.mark.django_db
def test_instants_are_read_in_c_and_are_those_that_were_written() -> None:
    written = dt.datetime(2026, 11, 1, 3, 30, 0, 123456, tzinfo=ZoneInfo("America/Chicago"))
    connection = connections["default"]

    with connection.cursor() as cursor:
        cursor.execute("SELECT %s::timestamptz, NULL::timestamptz, '0001-01-01 00:00Z'::timestamptz", [written])
        read = cursor.fetchone()

    loader = connection.connection.adapters.get_loader(INSTANTS, Format.TEXT)
    assert type(loader(INSTANTS, connection.connection)).__module__ == "psycopg_binary._psycopg"
    assert read == (written, None, dt.datetime(1, 1, 1, tzinfo=dt.UTC))
    assert read[0].tzinfo is dt.UTC


def test_connection_of_another_zone_reads_instants_as_django_does() -> None:
    other = DatabaseWrapper({**connections["default"].settings_dict, "TIME_ZONE": "America/Chicago"}, "other")

    loader = other.get_connection_params()["context"].get_loader(INSTANTS, Format.TEXT)

    assert loader.timezone == ZoneInfo("America/Chicago")
