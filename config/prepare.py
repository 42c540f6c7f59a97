"""What stands between a database and the first request: tables, cache, static files and, where asked, demo data.

One process for all of it: starting Django takes longer than most of the steps.
"""

import argparse
import io
import json
import os
import sys
from pathlib import Path
from typing import Any

import django
from django.core.management import call_command, get_commands
from django.core.management.base import CommandError


def main() -> None:
    """Run the steps, one line each; `--demo FILE` also loads demo data and leaves its facts in FILE."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--demo", type=Path)
    arguments = parser.parse_args()
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    django.setup()

    # Loads every address as well: a mistake in one shows here, not at the first request.
    call_command("check", stdout=io.StringIO())
    _say("Bringing the tables up to date ...")
    call_command("migrate", interactive=False, verbosity=0)
    call_command("createcachetable", verbosity=0)
    _say("Collecting the static files ...")
    call_command("collectstatic", interactive=False, verbosity=0)
    if arguments.demo is not None and "load_demo" in get_commands():
        arguments.demo.write_text(json.dumps(_load_demo()))


def _load_demo() -> dict[str, Any]:
    """Load demo data where there is none; return the token and the sign-ins."""
    output = _LastLineHeldBack()
    try:
        call_command("load_demo", "--json", stdout=output)
    except CommandError as error:
        sys.exit(f"The demo data could not be loaded: {error}")
    facts: dict[str, Any] = json.loads(output.last_line)
    return facts


class _LastLineHeldBack(io.StringIO):
    """Passes every line on but the last one, which is for the program."""

    last_line = ""

    def write(self, text: str) -> int:
        for line in text.splitlines():
            if line.strip():
                if self.last_line:
                    _say(self.last_line)
                self.last_line = line
        return len(text)


def _say(line: str) -> None:
    print(line, flush=True)


if __name__ == "__main__":
    main()
