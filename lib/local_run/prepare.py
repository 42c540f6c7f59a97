"""Prepare a database for the first request: tables, cache, static files and, on request, demo data.

One process for all steps, because starting Django takes longer than most of them.
"""

import argparse
import gc
import io
import os
import sys
from pathlib import Path

import django
from django.core.exceptions import ImproperlyConfigured
from django.core.management import call_command, get_commands
from django.core.management.base import CommandError
from django.db import OperationalError, connection


def main() -> None:
    """Run the steps, one output line each; `--demo FILE` also loads demo data and writes its facts to FILE."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--demo", type=Path)
    arguments = parser.parse_args()
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    gc.disable()  # garbage collection takes a sixth of the time of the migrations, and the process is short-lived
    try:
        django.setup()
        connection.ensure_connection()
    except ImproperlyConfigured as error:
        sys.exit(str(error))
    except OperationalError:
        sys.exit("PostgreSQL does not let us in; check address, role, password and database of DATABASE_URL.")

    # Also loads all URLs, so that an error in one is reported here and not at the first request.
    call_command("check", stdout=io.StringIO())
    _say("Bringing the tables up to date ...")
    call_command("migrate", interactive=False, verbosity=0)
    call_command("createcachetable", verbosity=0)
    _say("Collecting the static files ...")
    call_command("collectstatic", interactive=False, verbosity=0)
    if arguments.demo is not None and "load_demo" in get_commands():
        try:
            call_command("load_demo", "--facts", str(arguments.demo))
        except CommandError as error:
            sys.exit(f"The demo data could not be loaded: {error}")
        call_command("refresh_reports")


def _say(line: str) -> None:
    print(line, flush=True)


if __name__ == "__main__":
    main()
