"""Installer in a separate checkout: one line says why it cannot continue."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
# As on Debian without python3-venv.
WITHOUT_ENSUREPIP = """
import importlib.util
find_spec = importlib.util.find_spec
importlib.util.find_spec = lambda name, package=None: None if name == "ensurepip" else find_spec(name, package)
"""


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """Copy the files that the installer reads; there is no .venv."""
    for part in ("lib/local_run/install.py", "requirements/base.txt"):
        (tmp_path / "checkout" / part).parent.mkdir(parents=True)
        shutil.copy(ROOT / part, tmp_path / "checkout" / part)
    return tmp_path / "checkout"


@pytest.mark.parametrize("left", [None, 0o644, 0o755], ids=["nothing", "closed", "broken"])
def test_missing_venv_module_is_named_with_the_way_out(checkout: Path, tmp_path: Path, left: int | None) -> None:
    (tmp_path / "sitecustomize.py").write_text(WITHOUT_ENSUREPIP)
    if left is not None:  # an environment whose Python does not start
        python = checkout / ".venv" / "bin" / "python"
        python.parent.mkdir(parents=True)
        python.write_text("no program")
        python.chmod(left)

    done = subprocess.run(
        [sys.executable, str(checkout / "lib" / "local_run" / "install.py"), "base"],
        env={"PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )

    version = f"{sys.version_info[0]}.{sys.version_info[1]}"
    expected = f"Python's venv module is missing; on Debian and Ubuntu: apt install python{version}-venv\n"
    assert (done.returncode, done.stdout, done.stderr) == (1, "", expected)


SIX = """six==1.17.0 \\
    --hash=sha256:4721f391ed90541fddacab5acf947aa0d3dc7d27b2e1e8eda2be8970586c3274
"""


@pytest.mark.parametrize("with_uv", [True, False], ids=["uv", "pip"])
def test_requirements_are_installed_by_pip_where_uv_cannot(checkout: Path, with_uv: bool) -> None:
    (checkout / "requirements" / "base.txt").write_text(SIX)
    pinned = (ROOT / "requirements" / "install.txt").read_text() if with_uv else "no-such-package-anywhere==1.0\n"
    (checkout / "requirements" / "install.txt").write_text(pinned)
    installer = str(checkout / "lib" / "local_run" / "install.py")

    done = subprocess.run([sys.executable, installer, "base"], capture_output=True, text=True, check=False)

    python = str(checkout / ".venv" / "bin" / "python")
    assert (done.returncode, done.stderr) == (0, "")
    assert (checkout / ".venv" / "bin" / "uv").exists() is with_uv
    assert subprocess.run([python, "-c", "import six"], check=False).returncode == 0


def test_altered_package_is_refused(checkout: Path) -> None:
    (checkout / "requirements" / "base.txt").write_text(SIX.replace("4721f3", "4721f4"))
    shutil.copy(ROOT / "requirements" / "install.txt", checkout / "requirements" / "install.txt")
    installer = str(checkout / "lib" / "local_run" / "install.py")

    done = subprocess.run([sys.executable, installer, "base"], capture_output=True, text=True, check=False)

    assert done.returncode == 1
    assert "THESE PACKAGES DO NOT MATCH THE HASHES" in done.stderr
    assert not (checkout / ".venv" / ".installed").exists()
