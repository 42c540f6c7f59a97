"""Pooled connections are checked without a round trip, and broken ones are found out all the same."""

from typing import Any
from unittest.mock import patch

import psycopg
import pytest
from django.conf import settings
from django.db import connections

from lib.postgresql.base import check_quickly


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
