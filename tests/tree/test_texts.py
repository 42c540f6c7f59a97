"""Every marked text is translated into every language: `make texts` updates the catalogs."""

from pathlib import Path
from typing import Any

import polib
import pytest

from tests import texts


@pytest.mark.parametrize("path", texts.CATALOGUES, ids=lambda path: path.parts[-3])
def test_every_text_is_translated(path: Path) -> None:
    """If this fails, run `make texts`, and translate the listed texts in locale/."""
    catalogue = texts.extracted(path)

    assert texts.problems(catalogue) == []
    assert str(catalogue) == path.read_text(), "out of date: make texts"


def test_there_is_spanish() -> None:
    assert [path.parts[-3] for path in texts.CATALOGUES] == ["es"]


@pytest.mark.parametrize(
    ("entry", "problem"),
    [
        ({"msgid": "%(a)s is here", "msgstr": ""}, "not translated: '%(a)s is here'"),
        ({"msgid": "%(a)s is here", "msgstr": "%(a)s está", "flags": ["fuzzy"]}, "not translated: '%(a)s is here'"),
        ({"msgid": "%(a)s is here", "msgstr": "%(b)s está"}, "other placeholders: '%(a)s is here'"),
        ({"msgid": "%(a)s is here", "msgstr": "%(a)s está "}, "other spaces at its ends: '%(a)s is here'"),
        (
            {"msgid": "%(n)s one", "msgid_plural": "%(n)s", "msgstr_plural": {0: "uno", 1: "%(n)s"}},
            "other placeholders: '%(n)s one'",
        ),
        (
            {"msgid": "%(n)s one", "msgid_plural": "%(n)s", "msgstr_plural": {0: "%(n)s", 1: ""}},
            "not translated: '%(n)s one'",
        ),
    ],
)
def test_problems_of_a_translation_are_named(entry: dict[str, Any], problem: str) -> None:
    catalogue = polib.POFile()
    catalogue.append(polib.POEntry(msgid="Gone", msgstr="Ido"))
    catalogue.append(polib.POEntry(**entry))

    assert texts.problems(catalogue) == [problem]
