"""Process lock: one holder at a time; the system releases it when the process dies."""

import subprocess
import sys
from pathlib import Path

import pytest

from lib.process_lock import AlreadyLocked, process_lock

HOLD = """
import sys
from pathlib import Path
from lib.process_lock import process_lock
with process_lock(Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
"""


def _hold(path: Path) -> None:
    with process_lock(path):
        pass


def test_process_lock_is_refused_with_pid_until_the_holder_dies(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    command = [sys.executable, "-c", HOLD, str(path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"

        with pytest.raises(AlreadyLocked) as refusal:
            _hold(path)
        holder.kill()
        holder.wait()
        _hold(path)

    assert refusal.value.pid == holder.pid


def test_lock_is_free_again_after_its_block(tmp_path: Path) -> None:
    _hold(tmp_path / "lock")

    _hold(tmp_path / "lock")
