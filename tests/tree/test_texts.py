"""Everything that is said to people is said in every language: `make texts` brings the catalogues up to date."""

import ast
from pathlib import Path
from typing import Any

import polib
import pytest
from lib.admin_words import COLUMN, TABLE

from lib.retelling import CONTEXT
from tests import texts


def _catalogue(*entries: polib.POEntry) -> polib.POFile:
    made = polib.POFile()
    made.extend(entries)
    return made


@pytest.mark.parametrize("path", texts.CATALOGUES, ids=lambda path: path.parts[-3])
def test_every_text_is_translated(path: Path) -> None:
    """What fails here: run `make texts`, and translate in locale/ what it names."""
    catalogue = polib.pofile(str(path), wrapwidth=texts.WIDTH)
    marked = texts.found()

    assert texts.wrong_with(catalogue, marked) == []
    before = str(catalogue)
    texts.update(catalogue, marked)
    assert str(catalogue) == before == path.read_text(), "out of order: make texts"


def test_there_is_spanish() -> None:
    assert [path.parts[-3] for path in texts.CATALOGUES] == ["es"]


def test_sentences_stand_on_one_line_each() -> None:
    """They are said in other languages line by line (lib/retelling.py)."""
    assert [text for context, text in texts.found() if context == CONTEXT and "\n" in text] == []


def test_marks_of_modules_are_found() -> None:
    source = '''
"""A docstring. It says nothing to people."""
from django.utils.translation import gettext as _, ngettext, pgettext_lazy as p
from lib.choices import TextChoices

class Kind(TextChoices):
    """One of two."""
    OTHER = "other", p("kind", "another one")

def act(count, name):
    log.warning("For nobody but us.")
    other(_("A word"), ngettext("one", "many", count), p("place", "There"))
    tell(kind="x", title=f"{name} has come"[:120], text="Look at it.")
    half = phrase(f"{count} halves")
    raise Refused(f"Not {name}, but {half}.")
'''
    marked = {("", "A word", ""), ("", "one", "many"), ("place", "There", "")}
    labels = {("kind", "another one", "")}
    said = {"%(1)s has come", "Look at it.", "%(1)s halves", "Not %(1)s, but %(2)s."}

    assert set(texts.of_module(source)) == marked | labels
    assert set(texts.of_module(source, serves=True)) == marked | labels | {(CONTEXT, one, "") for one in said}


def test_names_of_tables_and_columns_are_found() -> None:
    source = """
class Kind(TextChoices):
    ONE = "one"

class OddThing(models.Model):
    id = models.UUIDField(primary_key=True)
    of: Any = models.ForeignKey("self", on_delete=models.CASCADE)
    is_on = models.BooleanField("switched on")
    vin = models.CharField(verbose_name="VIN")
    objects = Manager()

class Entry(models.Model):
    at = models.DateTimeField()

    class Meta:
        verbose_name = "a row"
        verbose_name_plural = "rows"
        ordering = ["at"]
"""
    columns = {"id", "of", "switched on", "VIN", "at"}
    tables = {"odd thing", "odd things", "a row", "rows"}

    assert set(texts._names(ast.parse(source))) == {(COLUMN, one) for one in columns} | {(TABLE, one) for one in tables}


def test_marks_of_templates_are_found() -> None:
    source = """{% load i18n %}<p title="{% translate "A “word”" context "place" %}">{% translate "It's" as it %}
    {% blocktranslate trimmed count count=one %}
      {{ count }} of 100%
    {% plural %}
      {{ count }} of them
    {% endblocktranslate %}</p>{{ _("Bare") }}"""

    assert set(texts.of_template(source)) == {
        ("place", "A “word”", ""),
        ("", "It's", ""),
        ("", "%(count)s of 100%%", "%(count)s of them"),
        ("", "Bare", ""),
    }


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ({"msgid": "Gone", "msgstr": "Ido"}, "marked nowhere: 'Gone'"),
        ({"msgid": "%(a)s is here", "msgstr": ""}, "not translated: '%(a)s is here'"),
        ({"msgid": "%(a)s is here", "msgstr": "%(a)s está", "flags": ["fuzzy"]}, "not translated: '%(a)s is here'"),
        ({"msgid": "%(a)s is here", "msgstr": "%(b)s está"}, "other placeholders: '%(a)s is here'"),
        ({"msgid": "%(a)s is here", "msgstr": "%(a)s está "}, "other spaces at its ends: '%(a)s is here'"),
        (
            {"msgid": "one", "msgid_plural": "many", "msgstr_plural": {0: "uno", 1: "muchos"}},
            "another plural: 'one'",
        ),
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
def test_what_is_wrong_with_a_translation_is_said(entry: dict[str, Any], said: str) -> None:
    marked = {("", "%(a)s is here"): "", ("", "%(n)s one"): "%(n)s", ("", "one"): "more"}

    found = texts.wrong_with(_catalogue(polib.POEntry(**entry)), marked)

    assert said in found
    assert len(found) == (4 if "nowhere" in said else 3)
    assert [one for one in found if one.startswith("not there")] == sorted(
        f"not there: {text!r}" for _, text in marked if text != entry["msgid"]
    )


def test_update_adds_drops_and_keeps() -> None:
    kept = polib.POEntry(msgid="b", msgstr="be")
    plain = polib.POEntry(msgid="one", msgstr="uno")
    catalogue = _catalogue(plain, kept, polib.POEntry(msgid="old", msgstr="viejo"))

    texts.update(catalogue, {("", "b"): "", ("place", "A"): "", ("", "one"): "many"})

    assert [(one.msgctxt, one.msgid, one.msgid_plural, one.msgstr, one.msgstr_plural) for one in catalogue] == [
        ("place", "A", "", "", {}),
        (None, "b", "", "be", {}),
        (None, "one", "many", "", {0: "", 1: ""}),
    ]
