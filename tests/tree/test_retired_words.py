"""The console does not use retired words, neither in texts with a translation nor in templates (docs/style.md)."""

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polib
import pytest

from tests.texts import CATALOGUES, ROOT

WORDS: dict[str, Any] = tomllib.loads(Path(__file__).with_name("retired_words.toml").read_text())
_WITHIN = re.compile(rf"(?<![\w-])({'|'.join(map(re.escape, WORDS['within']))})(?![\w-])", re.IGNORECASE)
_MARKUP = re.compile(r"{#.*?#}|{%.*?%}|{{.*?}}|<(script|style|code|pre)\b.*?</\1>|<[^>]*>", re.DOTALL)


def retired(text: str) -> list[str]:
    """Return the retired words of a text, each with its replacement."""
    words = [match.lower() for match in _WITHIN.findall(text)]
    whole = re.sub(r"%\(\w+\)s|[^\w\s'-]", "", text).strip().lower()
    if whole in WORDS["whole"]:
        words.append(whole)
    return [
        f"{word}: {WORDS['within'].get(word) or WORDS['whole'][word]}"
        for word in words
        if not any(allowed in text.lower() for allowed in WORDS["except"].get(word, ()))
    ]


def _texts() -> Iterator[tuple[str, str]]:
    for entry in polib.pofile(str(CATALOGUES[0])):  # the English texts are the same in each catalog
        yield "catalog", entry.msgid
        yield "catalog", entry.msgid_plural
    for path in sorted((ROOT / "templates").rglob("*.html")):
        for line in _MARKUP.sub("\n", path.read_text()).splitlines():
            yield str(path.relative_to(ROOT)), line


def test_no_text_contains_a_retired_word() -> None:
    found = [f"{place}: {text.strip()!r} ({word})" for place, text in _texts() for word in retired(text)]

    assert found == []


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Nobody has claimed it.", ["nobody: unclaimed, unassigned, or none"]),
        ("Way back at", ["way back: return trip"]),
        ("Acknowledge", ["acknowledge: claim"]),
        ("An alert was acknowledged.", []),
        ("Accept all %(count)s", ["accept all: assign all"]),
        ("Do not leave alone", []),
        ("Only riders alone", ["alone: only"]),
        ("Canceled late", []),
        ("No-show", []),
    ],
)
def test_retired_words_are_found_as_whole_words(text: str, words: list[str]) -> None:
    assert retired(text) == words
