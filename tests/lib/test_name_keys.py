"""Keys of names: a typed word has a key in common with a name exactly if at most one letter differs."""

import random

import pytest
from django.db import connection

from lib.db.name_keys import MAX_LETTERS, MAX_WORDS, near, words_of


def _distance(first: str, second: str) -> int:
    """Return the optimal string alignment distance: wrong, missing, extra and swapped letters."""
    rows = [list(range(len(second) + 1))]
    for at, letter in enumerate(first, 1):
        row = [at]
        for place, other in enumerate(second, 1):
            cost = min(rows[-1][place] + 1, row[-1] + 1, rows[-1][place - 1] + (letter != other))
            swapped = at > 1 and place > 1 and letter == second[place - 2] and first[at - 2] == other
            row.append(min(cost, rows[-2][place - 2] + 1) if swapped else cost)
        rows.append(row)
    return rows[-1][-1]


def _keys(*names: str) -> list[str]:
    with connection.cursor() as cursor:
        cursor.execute("SELECT name_keys(VARIADIC %s::text[])", [list(names)])
        return list(cursor.fetchone()[0])


@pytest.mark.django_db
def test_keys_meet_exactly_within_one_letter() -> None:
    chance = random.Random(7)
    words = ["".join(chance.choices("abc", k=chance.randint(3, 6))) for _ in range(60)]
    keys_of = {word: set(_keys(word)) for word in words}

    for typed in words:
        for word in words:
            assert bool(keys_of[word] & set(near(typed))) == (_distance(typed, word) <= 1), (typed, word)


@pytest.mark.django_db
def test_keys_separate_words_as_the_search_does() -> None:
    assert _keys("O'Brien-Smith", "") == sorted(_keys("smith", "o", "brien"))
    assert words_of("O'Brien-Smith") == ["o", "brien", "smith"]
    assert _keys("", "--") == []


def test_short_words_have_no_neighbors() -> None:
    assert near("li") == ["li"]


def test_words_are_limited_in_number_and_length() -> None:
    assert words_of("Ab " * 9) == ["ab"] * MAX_WORDS
    assert words_of("x" * 99) == ["x" * MAX_LETTERS]
