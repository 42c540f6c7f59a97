"""Modules that processes load at startup."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
LARGE = {"numpy", "pyarrow", "weasyprint"}
PROCESSES = {
    "web": "import config.asgi; from django.urls import get_resolver; get_resolver().url_patterns",
    "worker": "from config.celery import app; app.loader.import_default_modules(); app.finalize()",
}


@pytest.mark.parametrize("process", PROCESSES)
def test_large_libraries_are_loaded_by_who_needs_them(process: str) -> None:
    """A dozen to fifty megabytes each, in every process."""
    program = f"from tests import environment; {PROCESSES[process]}; import sys; print(*sorted(sys.modules))"

    output = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, check=True, capture_output=True, text=True, timeout=60
    ).stdout

    loaded = set(output.split())
    assert "apps.reporting.rules.measures" in loaded
    assert loaded & LARGE == set()
