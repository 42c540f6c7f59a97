"""Text format of tokens."""

import re
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.accounts.rules import token_format

TOKEN = token_format.write(token_format.Parts("A1b2C3d4E5f6", "0123456789abcdefghijABCDEFGHIJ0123456789"))


def test_token_has_the_published_form() -> None:
    text = token_format.write(token_format.generate())

    assert re.fullmatch(r"clt_[0-9A-Za-z]{12}_[0-9A-Za-z]{40}[0-9A-Za-z]{6}", text)


def test_checksum_is_the_crc_of_everything_before_it() -> None:
    value = 0
    for digit in TOKEN[-6:]:
        value = value * 62 + token_format.ALPHABET.index(digit)

    assert value == zlib.crc32(TOKEN[:-6].encode())


def test_token_is_read_back() -> None:
    parts = token_format.generate()

    assert token_format.read(token_format.write(parts)) == parts


@given(st.integers(0, len(TOKEN) - 1), st.sampled_from(token_format.ALPHABET + "_-é \n"))
def test_any_mistyped_character_is_noticed(place: int, char: str) -> None:
    mistyped = TOKEN[:place] + char + TOKEN[place + 1 :]

    assert (token_format.read(mistyped) is not None) == (mistyped == TOKEN)


@pytest.mark.parametrize("text", ["", "clt_", TOKEN + "x", " " + TOKEN, TOKEN + "\n", TOKEN.lower(), "x" * 64])
def test_other_texts_are_no_tokens(text: str) -> None:
    assert token_format.read(text) is None


def test_ten_thousand_tokens_differ_everywhere() -> None:
    drawn = [token_format.generate() for _ in range(10_000)]

    assert len({parts.key_id for parts in drawn}) == len({parts.secret for parts in drawn}) == 10_000
    assert {char for parts in drawn for char in parts.secret} == set(token_format.ALPHABET)


def test_secret_stays_out_of_repr() -> None:
    parts = token_format.generate()

    assert parts.secret not in repr(parts)
