"""Search of names with at most one wrong letter, by an index (docs/adr/0029).

The SQL function `name_keys` (migration organizations 0002) returns each word of some names, and each word with one
letter replaced by "?".  A GIN index over it finds a typed word by `near`: the two lists have a key in common exactly if
the words are the same, or differ by one letter that is wrong, missing, too much, or swapped with its neighbor.
"""

import re
from typing import Final

from django.contrib.postgres.fields import ArrayField
from django.db.models import Func, TextField

MAX_WORDS: Final = 5  # of a search text
MAX_LETTERS: Final = 40  # of a word
FEWEST_LETTERS: Final = 3  # of shorter words, every other one would match
_WORD: Final = re.compile(r"[^\W_]+")
_ANY_LETTER: Final = "?"


class NameKeys(Func):
    """The SQL `name_keys(column, ...)`: the keys of the words in these columns."""

    function = "name_keys"

    def __init__(self, *columns: str) -> None:
        super().__init__(*columns, output_field=ArrayField(TextField()))


def words_of(text: str) -> list[str]:
    """Return the words of a text in lower case, as the function separates them."""
    return [word[:MAX_LETTERS] for word in _WORD.findall(text.lower())[:MAX_WORDS]]


def near(word: str) -> list[str]:
    """Return the keys of words that differ from `word` by at most one letter; only `word` itself if it is short."""
    if len(word) < FEWEST_LETTERS:
        return [word]
    cuts = [(word[:at], word[at:]) for at in range(len(word) + 1)]
    keys = {word}
    keys |= {before + _ANY_LETTER + after for before, after in cuts}  # a letter is missing
    keys |= {before + _ANY_LETTER + after[1:] for before, after in cuts if after}  # a letter is wrong
    keys |= {before + after[1:] for before, after in cuts if after}  # a letter is too much
    keys |= {before + after[1] + after[0] + after[2:] for before, after in cuts if len(after) > 1}  # two are swapped
    return sorted(keys)
