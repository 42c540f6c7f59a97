"""Chromium for the browser tests: the machine's own, or Playwright's; `make test` installs one where it may.

Without a window to draw, Debian's `chromium-headless-shell` does the same in half the time: the tests prefer it.

python -m tests.browser.chromium
"""

import os
import shutil
import subprocess
import sys
from functools import cache
from typing import Final

APT: Final = ["apt-get", "-o", "Acquire::Retries=0", "-o", "Acquire::http::Timeout=20"]
PLAYWRIGHT: Final = [sys.executable, "-m", "playwright"]
_WHERE: Final = "from playwright.sync_api import sync_playwright as s\nwith s() as p: print(p.chromium.executable_path)"
_SHELL: Final = "chromium-headless-shell"
_AT_MOST: Final = 600  # seconds for a download


@cache
def find() -> str | None:
    """Name the program, or None; quick where the machine has one of its own."""
    return os.environ.get("CHROMIUM") or shutil.which(_SHELL) or find_whole()


def find_whole() -> str | None:
    """Name the one that people use, or None: what is measured is what they see."""
    named = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
    return named or shutil.which(_SHELL) or _playwrights_own()


def install() -> bool:
    """Install one where there is none: Debian's as root, Playwright's own elsewhere.  Say whether there is one now."""
    named = os.environ.get("CHROMIUM") or shutil.which(_SHELL)
    may = os.geteuid() == 0 and shutil.which(APT[0]) is not None
    if named or (find() and not may):
        return True
    print("Installing Chromium for the browser tests ...", flush=True)
    if may:
        get = [*APT, "install", "-y", "-qq", "--no-install-recommends"]
        if not find():
            _run([*APT, "update", "-qq"])
        if _run([*get, _SHELL]) is None and not find():
            _run([*get, "chromium"])
        find.cache_clear()
    if not find():
        _run([*PLAYWRIGHT, "install", "chromium"])
        find.cache_clear()
    return find() is not None


def _playwrights_own() -> str | None:
    done = _run([sys.executable, "-c", _WHERE])
    path = done.stdout.strip() if done is not None else ""
    # It may be there and not start: its libraries are the machine's affair.
    return path if path and os.access(path, os.X_OK) and _run([path, "--version"]) is not None else None


def _run(command: list[str]) -> "subprocess.CompletedProcess[str] | None":
    """Run a program quietly; None where it fails."""
    variables = {
        **os.environ,
        "DEBIAN_FRONTEND": "noninteractive",
        "PLAYWRIGHT_DOWNLOAD_CONNECTION_TIMEOUT": "20000",  # milliseconds
    }
    try:
        return subprocess.run(
            command,
            env=variables,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=True,
            timeout=_AT_MOST,
        )
    except (OSError, subprocess.SubprocessError):
        return None


if __name__ == "__main__" and not install():
    print("It cannot be installed here; the browser tests are skipped (set CHROMIUM to a path of your own).")
