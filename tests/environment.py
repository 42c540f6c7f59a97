"""Environment set up before Django's settings: variables of test.env, and a temporary PostgreSQL if none is named.

The process that starts the server stops it; the processes of xdist inherit its DATABASE_URL.
"""

import atexit
import os
import shutil
import signal
import sys
from pathlib import Path

import environ
import psutil

from lib.embedded_postgres import EmbeddedPostgres

SERVERS = Path(__file__).resolve().parent.parent / "var" / "test-postgres"


def prepare() -> None:
    """Complete `os.environ`, so that settings load and the database is available."""
    environ.Env.read_env(Path(__file__).with_name("test.env"))
    # The tests start many processes; without stored bytecode each compiles the whole project, and pytest every test.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    sys.dont_write_bytecode = False
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        # Shells start background jobs with SIGINT ignored, which programs that tests stop would inherit.
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if "DATABASE_URL" not in os.environ:
        _remove_leftovers()
        server = EmbeddedPostgres(SERVERS / str(os.getpid()), throwaway=True)
        server.start()
        atexit.register(_remove, server)
        os.environ["DATABASE_URL"] = server.url()


def _remove_leftovers() -> None:
    """Remove the servers of killed runs; each is named after its process id."""
    for folder in SERVERS.glob("*"):
        if not psutil.pid_exists(int(folder.name)):
            server = EmbeddedPostgres(folder)
            server.stop_leftovers()
            _remove(server)


def _remove(server: EmbeddedPostgres) -> None:
    server.stop()
    shutil.rmtree(server.folder, ignore_errors=True)


prepare()
