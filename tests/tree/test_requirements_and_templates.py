"""Requirements are pinned and name no registry; templates contain nothing that the content policy refuses."""

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent


def _tracked(*patterns: str) -> list[Path]:
    """Return the files of the project: tracked, or untracked and not ignored."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "--", *patterns]
    output = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    return [ROOT / line for line in output.splitlines() if (ROOT / line).is_file()]


def _named(paths: list[Path]) -> list[str]:
    return [str(path.relative_to(ROOT)) for path in paths]


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
