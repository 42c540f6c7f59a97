"""Dark differs from light in colours alone, so that pages are looked at in dark by the rules that look at colours."""

from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
OURS = [
    path
    for kind in ("css", "js")
    for path in (ROOT / "static").rglob(f"*.{kind}")
    if not path.is_relative_to(ROOT / "static" / "vendor")
]


@pytest.mark.parametrize("path", OURS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_no_style_and_no_script_asks_which_theme_it_is(path: Path) -> None:
    assert "prefers-color-scheme" not in path.read_text()
