"""Chromium for the browser tests: the machine's own, or Playwright's; `make test` installs one if it may.

The tests prefer Debian's `chromium-headless-shell`, which has no window to draw and takes half the time.

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
    """Return the path of the program, or None; fast if the machine has its own Chromium."""
    return os.environ.get("CHROMIUM") or shutil.which(_SHELL) or find_whole()


def find_whole() -> str | None:
    """Return the path of a full Chromium, or None: measurements use the browser that people use."""
    named = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
    return named or shutil.which(_SHELL) or _playwrights_own()


def install() -> bool:
    """Install Chromium if there is none: Debian's as root, Playwright's otherwise.  Return whether it is available."""
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
    # The program may exist and fail to start, if the machine lacks its libraries.
    return path if path and os.access(path, os.X_OK) and _run([path, "--version"]) is not None else None


def _run(command: list[str]) -> "subprocess.CompletedProcess[str] | None":
    """Run a program without output; return None if it fails."""
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
