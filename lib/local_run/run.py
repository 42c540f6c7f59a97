"""The program behind `make run`: starts everything that the service needs on one machine, watches it, and stops it.

    python -m lib.local_run.run                 serve until Ctrl-C
    python -m lib.local_run.run manage ...      one management command on the same database
    python -m lib.local_run.run demo            load the demo data again (the service has to be stopped)
    python -m lib.local_run.run reset           delete the database and everything else in var/

honcho watches the processes.  DATABASE_URL, BROKER_URL and CACHE_URL point to servers of the operator; without
DATABASE_URL an embedded PostgreSQL is started in demo mode.
"""

import contextlib
import json
import os
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import Any
from urllib.parse import quote

import psutil
from honcho.manager import Manager

from lib.embedded_postgres import EmbeddedPostgres, EmbeddedPostgresError
from lib.local_run import local_secrets
from lib.process_lock import AlreadyLocked, process_lock

ROOT = Path(__file__).resolve().parent.parent.parent
VAR = Path(os.environ.get("VAR_DIR") or ROOT / "var").resolve()
# In the environment of every process that is started here, to identify the processes of this checkout.
MARK = "CARELANE_STARTED_FROM"
COMMAND_SECONDS = 10  # for a command to clean up after SIGTERM
LOG_BYTES = 10_000_000  # larger logs are renamed at the next start, replacing the one renamed before


class StartRefused(Exception):
    """The command cannot continue; the message is one line with the reason."""


def main(arguments: list[str]) -> int:
    """Run the command line; return the exit status."""
    # Also if the caller made this process ignore SIGINT, as shells do for background processes.
    signal.signal(signal.SIGINT, _interrupt)
    signal.signal(signal.SIGTERM, _interrupt)
    if "MAKELEVEL" in os.environ:
        threading.Thread(target=_follow_make, args=(os.getppid(),), daemon=True).start()
    try:
        _make_folders()
        os.umask(0o077)  # var/ contains secrets, rider data and logs
        match arguments:
            case []:
                return serve(_port())
            case ["manage", *command]:
                return manage(command)
            case ["demo"]:
                return demo()
            case ["reset"]:
                return reset()
        raise StartRefused(f"Unknown command: {shlex.join(arguments)}")
    except (StartRefused, EmbeddedPostgresError) as refusal:
        print(refusal, file=sys.stderr, flush=True)
        return 1
    except AlreadyLocked as held:
        print(f"Carelane is running from this folder already (process {held.pid}).", file=sys.stderr, flush=True)
        return 1
    except KeyboardInterrupt:
        _say("Stopped.")
        return 0


def serve(port: int) -> int:
    """Start everything, print how to use it, and return after it was stopped."""
    began = time.monotonic()
    with process_lock(VAR / "run.lock"):
        _stop_leftovers()
        _refuse_taken(port)
        with _environment(port) as environment:
            facts = _prepare(environment)
            code = _watch(environment, port, facts, began)
    _say("Stopped.")
    return code


def manage(command: list[str]) -> int:
    """Run a management command on the database of `make run`, even while the service is running."""
    try:
        with process_lock(VAR / "run.lock"), _environment(_port()) as environment:
            return _run([sys.executable, "manage.py", *command], environment)
    except AlreadyLocked:
        environment = _settings(_port())
        environment.setdefault("DATABASE_URL", _embedded().url())
        return _run([sys.executable, "manage.py", *command], environment)


def demo() -> int:
    """Delete the embedded database and load the demo data again."""
    if "DATABASE_URL" in os.environ:
        raise StartRefused("Demo data is for the embedded database alone; unset DATABASE_URL.")
    with process_lock(VAR / "run.lock"):
        _stop_leftovers()
        _embedded().stop_leftovers()
        shutil.rmtree(VAR / "postgres", ignore_errors=True)
        (VAR / "demo.json").unlink(missing_ok=True)
        with _environment(_port()) as environment:
            _prepare(environment)
    return 0


def reset() -> int:
    """Delete everything in var/: data, secrets, logs."""
    with process_lock(VAR / "run.lock"):
        _stop_leftovers()
        _embedded().stop_leftovers()
        for path in VAR.iterdir():
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            elif path.name != "run.lock":
                path.unlink()
    _say(f"{VAR} is empty.")
    return 0


def _interrupt(number: int, frame: FrameType | None) -> None:
    # Ignore further signals: a second one must not interrupt the shutdown, whose steps have time limits of their own.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    raise KeyboardInterrupt


def _follow_make(make: int) -> None:
    """Stop when make receives SIGINT, or dies.

    A terminal sends Ctrl-C to both processes.  A program may send SIGINT only to make, which then waits for this
    process without passing it on; while it waits it blocks further SIGINTs, which is visible in /proc.
    """
    while os.getppid() == make and not _holds_interrupts_back(make):
        time.sleep(0.5)
    os.kill(os.getpid(), signal.SIGINT)


def _holds_interrupts_back(pid: int) -> bool:
    with contextlib.suppress(OSError, StopIteration):
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
        mask = next(line.split()[1] for line in lines if line.startswith("SigBlk:"))
        return bool(int(mask, 16) & 1 << (signal.SIGINT - 1))
    return False


def _make_folders() -> None:
    try:
        for folder in (VAR / "log", VAR / "broker" / "queue", VAR / "broker" / "control"):
            folder.mkdir(parents=True, exist_ok=True)
        (VAR / "run.lock").touch()
    except OSError as error:
        raise StartRefused(f"Cannot write to {error.filename}: {error.strerror}.") from error


def _port() -> int:
    text = os.environ.get("PORT", "") or "8000"
    if not text.isdecimal() or not 1 <= int(text) <= 65535:
        raise StartRefused(f"PORT has to be a number from 1 to 65535, not {text!r}.")
    return int(text)


def _refuse_taken(port: int) -> None:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except PermissionError as error:
            raise StartRefused(f"Port {port} needs more rights than you have: make run PORT=8000") from error
        except OSError as error:
            raise StartRefused(f"Port {port} is taken; choose another one: make run PORT={port % 65535 + 1}") from error


def _embedded() -> EmbeddedPostgres:
    return EmbeddedPostgres(VAR / "postgres", say=_say)


@contextlib.contextmanager
def _environment(port: int) -> Iterator[dict[str, str]]:
    """Yield the environment of the processes, with the embedded server running unless DATABASE_URL is set."""
    environment = _settings(port)
    if "DATABASE_URL" in environment:
        if environment["DEMO_MODE"].lower() in {"1", "true", "yes", "on", "y", "t", "ok"}:
            raise StartRefused("DEMO_MODE is for the embedded database alone; unset it, or unset DATABASE_URL.")
        _say("Using the database that DATABASE_URL names.")
        yield environment
        return
    server = _embedded()
    _say("Starting the embedded PostgreSQL ...")
    server.start()
    try:
        yield environment | {"DATABASE_URL": server.url()}
    finally:
        _say("Stopping the embedded PostgreSQL ...")
        server.stop()


def _settings(port: int) -> dict[str, str]:
    """Build the environment: settings of the operator, then secrets of this checkout, then defaults."""
    defaults = {
        "BASE_URL": f"http://localhost:{port}",
        "ALLOWED_HOSTS": "localhost,127.0.0.1,[::1]",
        "DEMO_MODE": "false" if "DATABASE_URL" in os.environ else "true",
        "PYTHONUNBUFFERED": "1",
    }
    if "DATABASE_URL" not in os.environ:
        defaults["EMAIL_URL"] = f"filemail:///{quote(str(VAR / 'mail'))}"  # one file per mail
    if "BASE_URL" in os.environ:
        del defaults["ALLOWED_HOSTS"]
    created, secrets = local_secrets.load(VAR / "secrets.env")
    if created:
        _say(f"Generated the secrets of this checkout: {VAR / 'secrets.env'}")
    return defaults | secrets | dict(os.environ) | {MARK: str(VAR), "VAR_DIR": str(VAR)}


def _prepare(environment: dict[str, str]) -> dict[str, Any]:
    """Prepare the database and the static files; return the facts of the demo data, {} without demo data."""
    facts = VAR / "demo.facts"
    facts.unlink(missing_ok=True)
    command = [sys.executable, "-m", "lib.local_run.prepare"]
    if environment["DATABASE_URL"] == _embedded().url():
        command += ["--demo", str(facts)]
    if _run(command, environment):
        raise StartRefused("The database is not ready; the lines above say why.")
    demo: dict[str, Any] = {}
    if facts.exists():
        demo = json.loads(facts.read_text())
        facts.unlink()
        page_facts = {"url": environment["BASE_URL"], "token": demo["token"], "signIns": demo["signIns"]}
        (VAR / "demo.json").write_text(json.dumps(page_facts, indent=2) + "\n")
    return demo


def _run(command: list[str], environment: dict[str, str]) -> int:
    """Run a command to its end; on SIGINT or SIGTERM terminate it, and wait for it to clean up."""
    with subprocess.Popen(command, cwd=ROOT, env=environment) as process:  # noqa: S603  # no shell
        try:
            return process.wait()
        except KeyboardInterrupt:
            process.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(COMMAND_SECONDS)
            process.kill()
            raise


def _watch(environment: dict[str, str], port: int, facts: dict[str, Any], began: float) -> int:
    """Run the web server and the worker until one of them ends or a signal comes."""
    python, schedule = shlex.quote(sys.executable), shlex.quote(str(VAR / "beat-schedule"))
    manager = Manager(printer=_Quiet())
    commands = {
        "web": f"{python} -m uvicorn config.asgi:application --host 127.0.0.1 --port {port} --no-access-log"
        " --log-level warning --timeout-graceful-shutdown 3 --lifespan off",
        "worker": f"{python} -m celery --quiet --app config.celery worker --beat --schedule {schedule} --pool threads"
        # Twice the number of exports, and of uploads by schedules, that may take minutes at the same time.
        " --concurrency 8 --queues carelane,webhooks,exports --without-gossip --without-mingle --without-heartbeat"
        " --loglevel WARNING",
    }
    # Threads of the worker use further connections: for heartbeats, and for claims while other threads wait.
    connections = {"web": {}, "worker": {"DATABASE_POOL_SIZE": "24"}}
    _say("Starting the web server and the worker ...")
    for name, command in commands.items():
        # Files keep the terminal readable; `exec` makes the service itself the process that honcho signals.
        log = VAR / "log" / f"{name}.log"
        if log.exists() and log.stat().st_size > LOG_BYTES:
            log.replace(log.with_suffix(".log.1"))
        own = connections[name] | environment
        manager.add_process(name, f"exec {command} >>{shlex.quote(str(log))} 2>&1", env=own, cwd=str(ROOT))
    ended = threading.Event()
    threading.Thread(target=_tell_when_up, args=(port, environment, facts, began, ended), daemon=True).start()
    try:
        manager.loop()
    finally:
        ended.set()
        _stop_leftovers()
    if manager.returncode in {128 + signal.SIGINT, 128 + signal.SIGTERM}:
        return 0
    _say(f"A service ended by itself; {VAR / 'log'} says why.")
    return 1


class _Quiet:
    """Suppresses honcho's own output: the runner reports what happens."""

    width = 0

    def write(self, message: object) -> None:
        return


def _tell_when_up(
    port: int, environment: dict[str, str], facts: dict[str, Any], began: float, ended: threading.Event
) -> None:
    while not ended.wait(0.1):
        try:
            urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=10).close()
        except urllib.error.HTTPError:
            break  # any response will do
        except OSError:
            continue
        else:
            break
    if not ended.is_set():
        _say("\n".join(_summary(environment["BASE_URL"], facts, time.monotonic() - began)))


def _summary(url: str, facts: dict[str, Any], seconds: float) -> list[str]:
    lines = ["", f"Carelane is up after {seconds:.0f} s: {url}"]
    if facts:
        lines += ["", "Sign in as:"]
        lines += [f"  {each['role']:<20} {each['email']:<36} {each['password']}" for each in facts["signIns"]]
        lines += ["", f"Demo token: {facts['token']}", "Try it:"]
        lines += [f"  curl -H 'Authorization: Bearer {facts['token']}' '{url}/api/rides?status=scheduled&limit=25'"]
        lines += ["", f"Also saved in {VAR / 'demo.json'}."]
    return [*lines, f"Logs: {VAR / 'log'}. Ctrl-C stops everything."]


def _stop_leftovers() -> None:
    """End processes of this checkout that are no longer watched.  Call it only under the lock."""
    leftovers = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error, OSError):
            if process.pid != os.getpid() and process.environ().get(MARK) == str(VAR):
                leftovers.append(process)
    for process in leftovers:
        with contextlib.suppress(psutil.NoSuchProcess):
            process.terminate()
    _, alive = psutil.wait_procs(leftovers, timeout=10)
    for process in alive:
        with contextlib.suppress(psutil.NoSuchProcess):
            process.kill()


def _say(line: str) -> None:
    print(line, flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
