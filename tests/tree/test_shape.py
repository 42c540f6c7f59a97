"""What a reader may rely on anywhere in the tree."""

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
DRAWERS = {"utils", "util", "helpers", "common", "misc", "base", "core", "manager", "handler", "managers", "handlers"}
LINES = 600  # a file that grows past this holds two things
LINES_OF_TESTS = 600


def _tracked(*patterns: str) -> list[Path]:
    """List the files of the project: committed or about to be, not ignored."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "--", *patterns]
    output = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    return [ROOT / line for line in output.splitlines() if (ROOT / line).is_file()]


def _named(paths: list[Path]) -> list[str]:
    return [str(path.relative_to(ROOT)) for path in paths]


def _limit(path: Path) -> int:
    return LINES_OF_TESTS if path.is_relative_to(ROOT / "tests") else LINES


def test_no_python_file_is_longer_than_a_reader_holds() -> None:
    files = [path for path in _tracked("*.py") if path.parent.name != "migrations"]

    too_long = [path for path in files if len(path.read_text().splitlines()) > _limit(path)]

    assert len(files) > 50
    assert _named(too_long) == []


def test_no_module_or_package_is_a_drawer() -> None:
    names = [path.relative_to(ROOT) for path in _tracked("*.py")]

    drawers = [str(path) for path in names if DRAWERS & {*path.with_suffix("").parts}]

    assert drawers == ["lib/postgresql/base.py"]  # Django looks a database backend up by that name


def test_no_file_holds_the_marks_of_a_merge() -> None:
    marked = [path for path in _tracked() if re.search(rb"^(<{7}|>{7}) ", path.read_bytes(), flags=re.MULTILINE)]

    assert _named(marked) == []


def test_requirements_say_what_each_of_them_is_for() -> None:
    lists = [ROOT / f"requirements/{name}.in" for name in ("install", "base", "dev")]
    lines = [line for path in lists for line in path.read_text().splitlines()]

    silent = [line for line in lines if line.strip() and not line.startswith("-c ") and "#" not in line]

    assert silent == []


def test_pinned_lists_carry_hashes_and_no_address() -> None:
    for name in ("install", "base", "dev"):
        text = (ROOT / f"requirements/{name}.txt").read_text()
        pins = re.findall(r"^[a-z0-9][^=\s]*==\S+ \\\n    --hash=sha256:", text, flags=re.MULTILINE)
        lines = [line for line in text.splitlines() if line and not line.startswith((" ", "#"))]

        assert len(pins) == len(lines)


@pytest.mark.parametrize("word", ["--index-url", "--extra-index-url", "--find-links", "--trusted-host"])
def test_no_file_names_a_package_registry(word: str) -> None:
    files = _tracked(
        "requirements", "Makefile", "pyproject.toml", ".ci", "deploy", "config", "docs", "*.md", ":!docs/pictures"
    )

    naming = [path for path in files if re.search(rf"(?<!no-emit){word}", path.read_text().replace("--no-emit-", ""))]

    assert _named(naming) == []


INLINE = {
    "script": re.compile(r"<script(?![^>]*\bsrc=)(?![^>]*type=\"application/json\")[^>]*>", re.IGNORECASE),
    "style element": re.compile(r"<style\b", re.IGNORECASE),
    "style attribute": re.compile(r"<[^>]+\sstyle\s*=", re.IGNORECASE),
    "handler": re.compile(r"<[^>]+\son[a-z]+\s*=", re.IGNORECASE),
    "javascript address": re.compile(r"(?:href|src|action)\s*=\s*[\"']?\s*javascript:", re.IGNORECASE),
}


@pytest.mark.parametrize("kind", INLINE)
def test_templates_hold_nothing_that_the_content_policy_refuses(kind: str) -> None:
    files = _tracked("*.html")

    holding = [path for path in files if INLINE[kind].search(path.read_text())]

    assert _named(holding) == []


def test_streams_are_made_in_two_places() -> None:
    """Anywhere else a stream would keep a connection of the pool for as long as it is open (console.md 3.2).

    Exports do while their rows come, for two minutes at most, and give it back then.
    """
    files = _tracked("apps/*.py", "config/*.py", "lib/*.py")

    making = [path for path in files if re.search(r"StreamingHttpResponse|text/event-stream", path.read_text())]

    assert len(files) > 300
    assert _named(making) == ["lib/live/stream.py", "lib/sending.py"]
