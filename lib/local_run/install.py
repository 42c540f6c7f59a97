"""Install exactly the pinned requirements into .venv.  Runs on the system's Python: standard library only.

python3 lib/local_run/install.py base        requirements of the service
python3 lib/local_run/install.py base dev    and of its tests
"""

import hashlib
import importlib.util
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
VENV = ROOT / ".venv"
PYTHON = VENV / "bin" / "python"
# The lists contain every dependency with its hashes, so that no resolving is needed.
_PINNED = ("--require-hashes", "--no-deps")


def main(names: list[str]) -> None:
    """Install requirements/<name>.txt for each of `names`, unless they are installed already."""
    stamp = VENV / ".installed"
    fingerprint = _fingerprint(names)
    if _works() and stamp.is_file() and fingerprint in stamp.read_text().split():
        return
    if not os.access(ROOT, os.W_OK):
        sys.exit(f"Cannot write to {ROOT}; clone it to a folder of your own.")
    if not _works():
        _make_environment()
    print(f"Installing the pinned requirements ({' and '.join(names)}) ...", flush=True)
    began = time.monotonic()
    stamp.unlink(missing_ok=True)
    lists = [argument for name in names for argument in ("--requirement", str(ROOT / "requirements" / f"{name}.txt"))]
    # uv takes a third of pip's time; pip can reach package indexes that uv cannot, by its own configuration.  Without
    # --compile-bytecode, Python compiles only the modules that the service imports, about a third, which is faster than
    # compiling everything with uv.  The many processes of the tests need everything compiled.
    compiling = ["--compile-bytecode"] if "dev" in names else []
    if not _install_with_uv([*compiling, *lists]):
        done = _pip("install", *_PINNED, *lists)
        if done.returncode:
            print("\n".join((done.stdout + done.stderr).strip().splitlines()[-20:]), file=sys.stderr)
            sys.exit("The requirements could not be installed; pip says why above.")
    # A longer list includes everything of the shorter ones.
    fulfilled = [_fingerprint(names[: end + 1]) for end in range(len(names))]
    stamp.write_text("\n".join(fulfilled) + "\n")
    print(f"Installed in {time.monotonic() - began:.0f} s.", flush=True)


def _install_with_uv(arguments: list[str]) -> bool:
    """Install with uv, which is pinned too and installed by pip; return whether that succeeded."""
    uv_list = str(ROOT / "requirements" / "install.txt")
    if _pip("install", *_PINNED, "--requirement", uv_list).returncode:
        return False
    environment = dict(os.environ)
    # uv does not read pip's configuration.
    index = _pip("config", "get", "global.index-url").stdout.strip() or os.environ.get("PIP_INDEX_URL", "")
    if index:
        environment.setdefault("UV_DEFAULT_INDEX", index)
    command = [str(VENV / "bin" / "uv"), "pip", "install", "--quiet", "--no-config", "--python", str(PYTHON), *_PINNED]
    return _run([*command, *arguments], environment).returncode == 0


def _pip(*arguments: str) -> "subprocess.CompletedProcess[str]":
    return _run([str(PYTHON), "-m", "pip", "--no-input", "--disable-pip-version-check", *arguments])


def _run(command: list[str], environment: dict[str, str] | None = None) -> "subprocess.CompletedProcess[str]":
    """Run a command and capture its output, which matters only if everything fails."""
    return subprocess.run(  # noqa: S603  # literal arguments, no shell
        command, check=False, stdin=subprocess.DEVNULL, capture_output=True, text=True, env=environment
    )


def _works() -> bool:
    """Return whether .venv has a working Python: the one it was created from may be gone."""
    try:
        done = subprocess.run([str(PYTHON), "-m", "pip", "--version"], check=False, capture_output=True)  # noqa: S603  # constant command
    except OSError:  # none, or in a folder of another user
        return False
    return done.returncode == 0


def _make_environment() -> None:
    # Debian ships venv without ensurepip, which fills it.
    if importlib.util.find_spec("venv") is None or importlib.util.find_spec("ensurepip") is None:
        version = f"{sys.version_info[0]}.{sys.version_info[1]}"
        sys.exit(f"Python's venv module is missing; on Debian and Ubuntu: apt install python{version}-venv")
    print("Making .venv ...", flush=True)
    shutil.rmtree(VENV, ignore_errors=True)
    done = subprocess.run(  # noqa: S603  # constant command
        [sys.executable, "-m", "venv", str(VENV)], check=False, capture_output=True, text=True
    )
    if done.returncode:
        shutil.rmtree(VENV, ignore_errors=True)
        lines = (done.stdout + done.stderr).strip().splitlines() or ["it says nothing"]
        sys.exit(f"Cannot make .venv: {lines[-1]}")


def _fingerprint(names: list[str]) -> str:
    content = b"".join((ROOT / "requirements" / f"{name}.txt").read_bytes() for name in names)
    return hashlib.sha256(content).hexdigest()


if __name__ == "__main__":
    main(sys.argv[1:])
