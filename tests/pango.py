"""Skips tests of PDF files if the system has no Pango."""

from importlib import import_module

import pytest


def needed() -> None:
    """Skip the test, or the module that is being imported, if Pango does not load."""
    try:
        import_module("weasyprint")
    except OSError:
        pytest.skip("Pango is not installed", allow_module_level=True)
