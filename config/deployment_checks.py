"""Checks of `manage.py check --deploy` in addition to Django's own.

Checks that query the database run with `--database default`, as in the service units of deploy/ before they start.
"""

from collections.abc import Sequence
from typing import Any

from django.apps import AppConfig
from django.conf import settings
from django.core.checks import CheckMessage, Error
from django.core.checks import Warning as Caution
from django.db import DatabaseError, connections

from config.setting_validators import LOOPBACK
from lib.embedded_postgres import is_embedded

PRIVATE_CACHES = (
    "django.core.cache.backends.locmem.LocMemCache",
    "django.core.cache.backends.dummy.DummyCache",
)


def shared_cache(app_configs: Sequence[AppConfig] | None, **kwargs: Any) -> list[CheckMessage]:
    """Refuse a default cache that is private to each process: sign-in attempts would not be counted together."""
    if settings.CACHES["default"]["BACKEND"] not in PRIVATE_CACHES:
        return []
    return [Error("The default cache is private to each process; set CACHE_URL.", id="carelane.E001")]


def shared_limits(app_configs: Sequence[AppConfig] | None, **kwargs: Any) -> list[CheckMessage]:
    """Warn if several processes each count API limits separately: a token gets the limits several times.

    Only if WEB_PROCESSES is set; docs/operations.md covers the default of one process per core.
    """
    private = settings.CACHES["throttles"]["BACKEND"] in PRIVATE_CACHES
    if settings.WEB_PROCESSES <= 1 or not private:
        return []
    return [Caution("Each of the WEB_PROCESSES counts API limits by itself; set CACHE_URL.", id="carelane.W004")]


def broker(app_configs: Sequence[AppConfig] | None, **kwargs: Any) -> list[CheckMessage]:
    """Warn of a broker in files, and of RabbitMQ's default account guest."""
    if settings.BROKER_URL.startswith("filesystem"):
        return [Caution("The broker is a folder, good for one machine; set BROKER_URL.", id="carelane.W001")]
    if "://guest:guest@" in settings.BROKER_URL:
        return [Caution("The broker lets guest in with its default password.", id="carelane.W002")]
    return []


def database_transport(app_configs: Sequence[AppConfig] | None, **kwargs: Any) -> list[CheckMessage]:
    """Warn if rider data is sent between machines without verifying the server's certificate."""
    database = settings.DATABASES["default"]
    host = database["HOST"]
    if not host or host.startswith("/") or host in LOOPBACK or database["OPTIONS"].get("sslmode") == "verify-full":
        return []
    return [Caution("Add ?sslmode=verify-full&sslrootcert=... to DATABASE_URL.", id="carelane.W003")]


def demo_mode(
    app_configs: Sequence[AppConfig] | None, databases: Sequence[str] | None = None, **kwargs: Any
) -> list[CheckMessage]:
    """Refuse demo mode, which requires no second factor, on any database but the embedded one."""
    if not settings.DEMO_MODE or "default" not in (databases or ()):
        return []
    try:
        if is_embedded(connections["default"]):
            return []
    except DatabaseError:
        return [Error("DEMO_MODE is on and the database does not answer.", id="carelane.E002")]
    return [Error("DEMO_MODE is for the embedded database alone.", id="carelane.E002")]


def database_role(
    app_configs: Sequence[AppConfig] | None, databases: Sequence[str] | None = None, **kwargs: Any
) -> list[CheckMessage]:
    """Refuse a role that owns the tables or is a superuser: it could disable the append-only triggers."""
    if settings.DEMO_MODE or "default" not in (databases or ()):
        return []
    try:
        with connections["default"].cursor() as cursor:
            cursor.execute(
                "SELECT rolsuper OR EXISTS (SELECT FROM pg_class WHERE relkind IN ('r', 'p') AND relowner = r.oid)"
                " FROM pg_roles r WHERE rolname = current_user"
            )
            row = cursor.fetchone()
    except DatabaseError:
        return [Error("The database does not answer.", id="carelane.E003")]
    if row == (False,):
        return []
    hint = "Migrate with the owner's DATABASE_URL and serve with another role; see docs/operations.md."
    return [Error("The service connects as the owner of its tables, or a superuser.", hint=hint, id="carelane.E003")]
