"""Sentences of services, said in the language of whoever reads them.

Services write English: what they refuse with goes to the API as well, and what they store is read by people of every
language.  Pages and mails say it again in the reader's own: the sentence itself, or the one that it was made of, with
what was filled in.  Such sentences are marked by what they are, literals that end with a full stop (tests/texts.py);
phrases that are filled in are marked by `phrase`.
"""

import functools
import re
from pathlib import Path
from typing import Final

import polib
from django.conf import settings
from django.utils.text import capfirst
from django.utils.translation import get_language, pgettext

CONTEXT: Final = "sentence"
_GAP: Final = re.compile(r"%\((\d+)\)s")


def phrase(text: str) -> str:
    """Mark what is filled into sentences.  The phrase stays as it is."""
    return text


def retold(text: str) -> str:
    """Say sentences in the active language, line by line; as they are, where that is English or nobody has done it.

    What is filled into a sentence does not reach beyond its line.
    """
    language = get_language() or ""
    if language.startswith("en") or not language:
        return text
    return "\n".join(_said(line, language) for line in text.split("\n"))


def _said(line: str, language: str) -> str:
    said = pgettext(CONTEXT, line) if line else line
    if said != line:
        return said
    for pattern, template in _made_sentences(language):
        if found := pattern.fullmatch(line):
            filled_in = {name[1:]: _said(part, language) for name, part in found.groupdict().items()}
            said = pgettext(CONTEXT, template) % filled_in
            return capfirst(said) if line[0].isupper() else said
    return line


@functools.cache
def _made_sentences(language: str) -> list[tuple[re.Pattern[str], str]]:
    """List the sentences with gaps of a catalogue, those with the most words of their own first."""
    path = Path(settings.LOCALE_PATHS[0]) / language / "LC_MESSAGES" / "django.mo"
    if not path.is_file():
        return []
    texts = [one.msgid for one in polib.mofile(str(path)) if one.msgctxt == CONTEXT and _GAP.search(one.msgid)]
    return [(_pattern(text), text) for text in sorted(texts, key=lambda text: -len(_GAP.sub("", text)))]


def _pattern(text: str) -> re.Pattern[str]:
    parts = _GAP.split(text)  # words and the names of gaps in turn
    named = [f"(?P<p{part}>.*)" if place % 2 else re.escape(part) for place, part in enumerate(parts)]
    return re.compile("".join(named))
