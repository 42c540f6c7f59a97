"""Measurements of `make bench`: the service compared to minimal implementations, on a million rides.

Importing any part prepares the settings: secrets of test.env, and the database of the run, which `dataset.py` creates
on the server of DATABASE_URL, or on an embedded server below var/.
"""

import os
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import django
import environ

from lib.embedded_postgres import EmbeddedPostgres
from tests import addresses

ROOT = Path(__file__).resolve().parents[2]
DATASET = "carelane_bench"  # unchanged after its creation
RUN = f"{DATASET}_run"  # a copy, to which the measurements write

# None if an operator's server is named; its settings are then the operator's.
EMBEDDED = None if "DATABASE_URL" in os.environ else EmbeddedPostgres(ROOT / "var" / "bench-postgres")


def database_url(name: str) -> str:
    """Return the URL of a database on the server of the measurements."""
    if EMBEDDED is not None:
        return EMBEDDED.url(name)
    given = urlsplit(_GIVEN)
    return urlunsplit(given._replace(path=f"{given.path.rpartition('/')[0]}/{name}"))


def conninfo(name: str) -> str:
    """Return the same as a libpq connection string."""
    return addresses.conninfo(database_url(name))


def _prepare() -> None:
    kept = {name: os.environ.get(name) for name in ("API_TOKEN_CACHE_SECONDS", "LOG_LEVEL")}
    environ.Env.read_env(ROOT / "tests" / "test.env")
    for name, value in kept.items():  # production values in place of those of the tests
        os.environ.pop(name, None)
        if value is not None:
            os.environ[name] = value
    os.environ["DATABASE_URL"] = database_url(RUN)
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    django.setup()


_GIVEN = os.environ.get("DATABASE_URL", "")
_prepare()
