"""Database of a million rides that is created once and copied for every run."""

import hashlib
import os
import subprocess
import sys

import psycopg
from psycopg import sql

from tests.bench import DATASET, ROOT, RUN, conninfo, database_url
from tests.bench.table import say

SCRIPT = ROOT / "tests" / "bench" / "dataset.sql"


def prepare() -> None:
    """Create the dataset if it is missing or of an older schema, and copy it into the database of this run.

    Creation takes minutes and about 4 GB, copying seconds and as much again; the copy is dropped when the run ends.
    """
    wanted = _fingerprint()
    with _administrator() as connection:
        if _mark(connection) != wanted:
            say("Making the dataset: 1,000,000 rides.  This takes minutes, once.")
            _drop(connection, DATASET)
            connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(DATASET)))
            _fill()
            mark = sql.SQL("COMMENT ON DATABASE {} IS {}").format(sql.Identifier(DATASET), sql.Literal(wanted))
            connection.execute(mark)
        say("Copying the dataset for this run.")
        _drop(connection, RUN)
        copy = sql.SQL("CREATE DATABASE {} TEMPLATE {} STRATEGY FILE_COPY")
        connection.execute(copy.format(sql.Identifier(RUN), sql.Identifier(DATASET)))


def prepare_empty() -> None:
    """Create the database of this run without rides, for measurements that need none."""
    with _administrator() as connection:
        _drop(connection, RUN)
        connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(RUN)))
    _migrate(RUN)


def remove_copy() -> None:
    with _administrator() as connection:
        _drop(connection, RUN)


def _fingerprint() -> str:
    """Digest the schema and the script of the dataset: a change requires a new dataset."""
    digest = hashlib.sha256(SCRIPT.read_bytes())
    for migration in sorted((ROOT / "apps").glob("*/migrations/0*.py")):
        digest.update(migration.read_bytes())
    return digest.hexdigest()


def _administrator() -> "psycopg.Connection[tuple[object, ...]]":
    return psycopg.connect(conninfo("postgres"), autocommit=True)


def _mark(connection: "psycopg.Connection[tuple[object, ...]]") -> object:
    found = connection.execute(
        "SELECT shobj_description(oid, 'pg_database') FROM pg_database WHERE datname = %s", [DATASET]
    ).fetchone()
    return found[0] if found else None


def _drop(connection: "psycopg.Connection[tuple[object, ...]]", name: str) -> None:
    connection.execute(sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(sql.Identifier(name)))


def _fill() -> None:
    _migrate(DATASET)
    with psycopg.connect(conninfo(DATASET), autocommit=True) as connection:
        connection.execute("SET synchronous_commit = off")
        connection.execute("SET maintenance_work_mem = '512MB'")
        connection.execute(SCRIPT.read_bytes())
        connection.execute("VACUUM ANALYZE")


def _migrate(name: str) -> None:
    variables = {**os.environ, "DATABASE_URL": database_url(name)}
    migrate = [sys.executable, "manage.py", "migrate", "--verbosity=0"]
    subprocess.run(migrate, cwd=ROOT, env=variables, check=True)
