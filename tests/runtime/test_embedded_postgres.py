import os
import signal
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import psutil
import psycopg
import pytest
from django.conf import LazySettings
from django.db import connection

from lib import embedded_postgres
from lib.embedded_postgres import EmbeddedPostgres, EmbeddedPostgresError, is_embedded

ROOT = Path(__file__).resolve().parent.parent.parent
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root starts the server as another user")

ASK = """
from django.db import connection
from lib.embedded_postgres import is_embedded
print(is_embedded(connection), connection.settings_dict["NAME"])
"""

Make = Callable[[Path], EmbeddedPostgres]


@pytest.fixture
def make() -> Iterator[Make]:
    """Create servers that end with the test, and collect their output."""
    made: list[EmbeddedPostgres] = []

    def factory(folder: Path) -> EmbeddedPostgres:
        made.append(EmbeddedPostgres(folder, say=lambda line: None))
        return made[-1]

    yield factory
    for server in made:
        server.stop()
        with suppress(OSError):
            server.stop_leftovers()


def _connect(server: EmbeddedPostgres) -> "psycopg.Connection[tuple[object, ...]]":
    return psycopg.connect(host=str(server.socket_folder), user="postgres", dbname="carelane", autocommit=True)


def _processes(server: EmbeddedPostgres) -> list[psutil.Process]:
    return list(embedded_postgres._servers_on(server.data))


def test_server_keeps_what_was_written_and_leaves_no_process(make: Make, tmp_path: Path) -> None:
    server = make(tmp_path / "a folder" / "postgres")
    server.start()
    with _connect(server) as session:
        session.execute("CREATE TABLE kept AS SELECT 7 AS number")

    server.stop()

    assert _processes(server) == []
    server.start()
    with _connect(server) as session:
        assert session.execute("SELECT number FROM kept").fetchall() == [(7,)]
        assert session.execute("SELECT current_setting('fsync')").fetchone() == ("on",)
        assert session.execute("SHOW listen_addresses").fetchone() == ("",)


def test_address_leads_django_to_the_server(make: Make, tmp_path: Path) -> None:
    server = make(tmp_path / "a folder")
    server.start()

    done = subprocess.run(
        [sys.executable, "manage.py", "shell", "-v0", "-c", ASK],
        cwd=ROOT,
        env=os.environ | {"DATABASE_URL": server.url(), "VAR_DIR": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    )

    assert done.stdout == "True carelane\n"


def test_committed_rows_survive_a_killed_server(make: Make, tmp_path: Path) -> None:
    server = make(tmp_path / "postgres")
    server.start()
    with _connect(server) as session:
        session.execute("CREATE TABLE kept AS SELECT 7 AS number")
    postmaster = int((server.data / "postmaster.pid").read_text().splitlines()[0])
    os.kill(postmaster, signal.SIGKILL)

    again = make(tmp_path / "postgres")
    again.start()

    with _connect(again) as session:
        assert session.execute("SELECT number FROM kept").fetchall() == [(7,)]


def test_server_that_a_killed_run_left_is_replaced(make: Make, tmp_path: Path) -> None:
    make(tmp_path / "postgres").start()
    left = (tmp_path / "postgres" / "data" / "postmaster.pid").read_text().splitlines()[0]

    make(tmp_path / "postgres").start()

    now = (tmp_path / "postgres" / "data" / "postmaster.pid").read_text().splitlines()[0]
    assert now != left
    assert not psutil.pid_exists(int(left)) or psutil.Process(int(left)).status() == psutil.STATUS_ZOMBIE


def test_pid_file_of_a_foreign_process_is_ignored(make: Make, tmp_path: Path) -> None:
    server = make(tmp_path / "postgres")
    server.start()
    server.stop()
    (server.data / "postmaster.pid").write_text(f"{os.getpid()}\n{server.data}\n0\n5432\n\n\n0 0\nready\n")

    server.start()

    with _connect(server) as session:
        assert session.execute("SELECT 1").fetchone() == (1,)


def test_two_checkouts_run_at_once(make: Make, tmp_path: Path) -> None:
    one, two = make(tmp_path / "one" / "postgres"), make(tmp_path / "two" / "postgres")

    one.start()
    two.start()

    for server in (one, two):
        with _connect(server) as session:
            assert session.execute("SHOW data_directory").fetchone() == (str(server.data),)


def test_path_too_long_for_a_socket_moves_the_socket_alone(make: Make, tmp_path: Path) -> None:
    server = make(tmp_path / ("long" * 30) / "postgres")

    server.start()

    assert server.socket_folder.parent != server.folder.parent
    assert stat.S_IMODE(server.socket_folder.stat().st_mode) == 0o700
    with _connect(server) as session:
        assert session.execute("SHOW data_directory").fetchone() == (str(server.data),)
    server.stop()
    assert not server.socket_folder.exists()


def test_half_made_cluster_is_made_anew(make: Make, tmp_path: Path) -> None:
    server = make(tmp_path / "postgres")
    (tmp_path / "postgres" / "data.new" / "base").mkdir(parents=True)

    server.start()

    with _connect(server) as session:
        assert session.execute("SELECT 1").fetchone() == (1,)


def test_data_of_another_version_are_refused_in_one_line(make: Make, tmp_path: Path) -> None:
    server = make(tmp_path / "postgres")
    server.data.mkdir(parents=True)
    (server.data / "PG_VERSION").write_text("16\n")

    with pytest.raises(EmbeddedPostgresError, match=r"^.*/data was made by PostgreSQL 16, this is 18: `make reset`\.$"):
        server.start()

    assert [path.name for path in server.data.iterdir()] == ["PG_VERSION"]


def test_folder_that_cannot_be_made_is_refused_in_one_line(make: Make, tmp_path: Path) -> None:
    (tmp_path / "file").touch()

    with pytest.raises(EmbeddedPostgresError, match=r"^Cannot write to .*/file/postgres: Not a directory\.$"):
        make(tmp_path / "file" / "postgres").start()


def test_server_that_does_not_start_says_why_in_one_line(make: Make, tmp_path: Path) -> None:
    server = make(tmp_path / "postgres")
    server.start()
    server.stop()
    (server.data / "postgresql.auto.conf").write_text("max_connections = many\n")

    with pytest.raises(EmbeddedPostgresError, match=r"^PostgreSQL did not start: .*postgresql\.auto\.conf.*$"):
        server.start()

    assert _processes(server) == []


def test_log_of_the_server_repeats_no_value(make: Make, tmp_path: Path) -> None:
    server = make(tmp_path / "postgres")
    server.start()
    with _connect(server) as session:
        session.execute("CREATE TABLE seen (phone text UNIQUE)")

        with pytest.raises(psycopg.errors.UniqueViolation, match="Canary-4711"):
            session.execute("INSERT INTO seen VALUES (%s), (%s)", ["Canary-4711", "Canary-4711"])

    log = server.log.read_text()
    assert "duplicate key value violates unique constraint" in log
    assert "Canary-4711" not in log


@as_root
def test_root_opens_closed_folders_for_search_only(tmp_path: Path) -> None:
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o700)
    said: list[str] = []
    server = EmbeddedPostgres(closed / "postgres", say=said.append)

    server.start()
    owner = _processes(server)[0].username()
    server.stop()

    assert owner == embedded_postgres.ACCOUNT
    assert f"Letting the database user pass through {closed} (chmod o+x)." in said
    assert stat.S_IMODE(closed.stat().st_mode) == 0o701
    assert stat.S_IMODE(server.folder.stat().st_mode) == 0o700


@pytest.mark.django_db
def test_database_is_embedded_where_its_data_lie_below_var(settings: LazySettings) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SHOW data_directory")
        data = Path(cursor.fetchone()[0])

    settings.VAR_DIR = data.parent
    assert is_embedded(connection)

    settings.VAR_DIR = data.parent / "elsewhere"
    assert not is_embedded(connection)
