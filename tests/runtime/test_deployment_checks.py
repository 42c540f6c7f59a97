from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.apps import apps
from django.conf import LazySettings
from django.core import checks
from django.db import connection
from psycopg import sql

from config import celery, deployment_checks
from config.celery import TIMETABLE

Check = Callable[..., list[checks.CheckMessage]]


def _ids(check: Check, **kwargs: Any) -> list[str | None]:
    return [message.id for message in check(None, **kwargs)]


@pytest.mark.parametrize("backend", ["locmem.LocMemCache", "dummy.DummyCache"])
def test_private_default_cache_is_refused(settings: LazySettings, backend: str) -> None:
    settings.CACHES = {"default": {"BACKEND": f"django.core.cache.backends.{backend}"}}

    assert _ids(deployment_checks.shared_cache) == ["carelane.E001"]


@pytest.mark.parametrize("backend", ["db.DatabaseCache", "redis.RedisCache"])
def test_shared_default_cache_is_accepted(settings: LazySettings, backend: str) -> None:
    settings.CACHES = {"default": {"BACKEND": f"django.core.cache.backends.{backend}"}}

    assert _ids(deployment_checks.shared_cache) == []


@pytest.mark.parametrize(
    ("processes", "backend", "expected"),
    [
        (0, "locmem.LocMemCache", []),
        (1, "locmem.LocMemCache", []),
        (2, "locmem.LocMemCache", ["carelane.W004"]),
        (2, "redis.RedisCache", []),
    ],
)
def test_several_processes_share_the_cache_of_the_limits(
    settings: LazySettings, processes: int, backend: str, expected: list[str]
) -> None:
    settings.WEB_PROCESSES = processes
    settings.CACHES = {"throttles": {"BACKEND": f"django.core.cache.backends.{backend}"}}

    assert _ids(deployment_checks.shared_limits) == expected


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("filesystem://", ["carelane.W001"]),
        ("amqp://guest:guest@mq.example.org//", ["carelane.W002"]),
        ("amqps://carelane:secret@mq.example.org//", []),
        ("rediss://mq.example.org/0", []),
    ],
)
def test_brokers_are_judged_by_their_address(settings: LazySettings, url: str, expected: list[str]) -> None:
    settings.BROKER_URL = url

    assert _ids(deployment_checks.broker) == expected


@pytest.mark.parametrize(
    ("host", "options", "expected"),
    [
        ("db.example.org", {}, ["carelane.W003"]),
        ("db.example.org", {"sslmode": "require"}, ["carelane.W003"]),
        ("db.example.org", {"sslmode": "verify-full"}, []),
        ("127.0.0.1", {}, []),
        ("/run/postgresql", {}, []),
        ("", {}, []),
    ],
)
def test_database_on_another_machine_has_to_prove_itself(
    settings: LazySettings, monkeypatch: pytest.MonkeyPatch, host: str, options: dict[str, str], expected: list[str]
) -> None:
    monkeypatch.setitem(settings.DATABASES["default"], "HOST", host)
    monkeypatch.setitem(settings.DATABASES["default"], "OPTIONS", options)

    assert _ids(deployment_checks.database_transport) == expected


@pytest.mark.django_db
def test_demo_mode_is_refused_on_a_database_outside_var(settings: LazySettings) -> None:
    settings.DEMO_MODE = True
    settings.VAR_DIR = "/nowhere"

    assert _ids(deployment_checks.demo_mode, databases=["default"]) == ["carelane.E002"]
    assert _ids(deployment_checks.demo_mode, databases=[]) == []


@pytest.mark.django_db
def test_demo_mode_is_accepted_on_a_database_below_var(settings: LazySettings) -> None:
    settings.DEMO_MODE = True
    with connection.cursor() as cursor:
        cursor.execute("SHOW data_directory")
        settings.VAR_DIR = cursor.fetchone()[0]

    assert _ids(deployment_checks.demo_mode, databases=["default"]) == []


@pytest.fixture
def role(db: None) -> Iterator[str]:
    """Role that owns nothing; dropped with the test's transaction."""
    with connection.cursor() as cursor:
        cursor.execute(sql.SQL("CREATE ROLE {}").format(sql.Identifier("carelane_check_app")))
    yield "carelane_check_app"
    with connection.cursor() as cursor:
        cursor.execute("RESET ROLE")


def test_role_that_owns_the_tables_is_refused(settings: LazySettings, db: None) -> None:
    settings.DEMO_MODE = False

    assert _ids(deployment_checks.database_role, databases=["default"]) == ["carelane.E003"]


def test_role_that_owns_nothing_is_accepted(settings: LazySettings, role: str) -> None:
    settings.DEMO_MODE = False
    with connection.cursor() as cursor:
        cursor.execute(sql.SQL("SET ROLE {}").format(sql.Identifier(role)))

    assert _ids(deployment_checks.database_role, databases=["default"]) == []


def test_checks_are_registered_for_deployments_alone() -> None:
    ours = {name for name in vars(deployment_checks) if getattr(getattr(deployment_checks, name), "tags", None)}
    registered = {getattr(check, "__name__", "") for check in checks.registry.registry.deployment_checks}

    assert ours == {"shared_cache", "shared_limits", "broker", "database_transport", "demo_mode", "database_role"}
    assert ours <= registered
    assert apps.get_app_config("carelane").name == "config"


def test_beat_schedule_names_known_tasks_run_at_least_hourly() -> None:
    celery.app.loader.import_default_modules()

    assert set(TIMETABLE) <= set(celery.app.tasks)
    assert all(0 < every.total_seconds() <= 3600 for every in TIMETABLE.values())
    assert set(celery.app.conf.beat_schedule) == set(TIMETABLE)
