"""Implementation of `make check`: every check that needs no running service, each announced, all of them run.

python -m tests.checks
"""

import os
import subprocess
import sys
from pathlib import Path

from tests import environment  # noqa: F401  # brings the variables and a database

ROOT = Path(__file__).resolve().parent.parent
HERE = Path(sys.executable).parent
PYTHON = sys.executable

CHECKS: dict[str, list[str]] = {
    "lint": [str(HERE / "ruff"), "check", "."],
    "format": [str(HERE / "ruff"), "format", "--check", "."],
    "types": [str(HERE / "mypy")],
    "layers": [str(HERE / "lint-imports")],
    "migrations": [PYTHON, "manage.py", "makemigrations", "--check", "--dry-run"],
    "deployment": [PYTHON, "manage.py", "check", "--deploy", "--fail-level", "WARNING"],
    "tree": [PYTHON, "-m", "pytest", "tests/tree", "-q"],
}


def main() -> int:
    """Run the checks; return 1 if any failed."""
    failed = []
    for name, command in CHECKS.items():
        print(f"--- {name}", flush=True)
        variables = _production() if name == "deployment" else dict(os.environ)
        if subprocess.run(command, cwd=ROOT, env=variables, check=False).returncode:
            failed.append(name)
    print(f"--- failed: {', '.join(failed)}" if failed else "--- all checks passed", flush=True)
    return 1 if failed else 0


def _production() -> dict[str, str]:
    """Return production settings of an operator, on the database of the checks."""
    lines = (ROOT / "tests" / "production.env").read_text().splitlines()
    pairs = (line.partition("=")[::2] for line in lines if not line.startswith("#"))
    return {**os.environ, **dict(pairs)}


if __name__ == "__main__":
    sys.exit(main())
