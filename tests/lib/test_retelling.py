"""Sentences of services in the reader's language: whole ones, made ones, and those that nobody has translated."""

from pathlib import Path
from typing import Any

import pytest
from django.utils.translation import override

from apps.riders.rules.needs import Mobility
from lib import retelling
from lib.retelling import phrase, retold

MADE = "The lift carries 600 lb; rider and chair weigh 650 lb."


@pytest.mark.parametrize(
    ("sentence", "said"),
    [
        ("This ride was booked already.", "Este traslado ya estaba reservado."),
        (MADE, "El elevador carga 600 lb; el pasajero y la silla pesan 650 lb."),
        # Phrases in its gaps are said, too; names there stay as they are.
        ("The attendant is on leave at that time.", "El asistente está ausente a esa hora."),
        ("Token k1 of “Driver feed” expires within 7 days", "El token k1 de “Driver feed” caduca dentro de 7 días"),
        ("The vehicle's insurance is missing.", "Del vehículo: falta seguro."),
        ("Christmas Day, 2026-12-25: nothing decided at Loop", "Navidad, 2026-12-25: nada decidido en Loop"),
        # A gap does not reach beyond its line.
        (
            "The lift carries 600\nlb; rider and chair weigh 650 lb.",
            "The lift carries 600\nlb; rider and chair weigh 650 lb.",
        ),
        ("Nobody has translated this.", "Nobody has translated this."),
        ("", ""),
    ],
)
def test_sentences_are_said_in_spanish_and_stay_in_english(sentence: str, said: str) -> None:
    with override("es"):
        assert retold(sentence) == said
    for language in ("en", "en-us"):
        with override(language):
            assert retold(sentence) == sentence
    with override(None):
        assert retold(sentence) == sentence


def test_phrase_stays_as_it_is() -> None:
    with override("es"):
        assert phrase("driver") == "driver"


def test_without_a_compiled_catalogue_sentences_stay(settings: Any, tmp_path: Path) -> None:
    retelling._made_sentences.cache_clear()
    settings.LOCALE_PATHS = [tmp_path]
    try:
        with override("es"):
            assert retold(MADE) == MADE
    finally:
        retelling._made_sentences.cache_clear()


def test_labels_of_choices_go_by_the_language_and_their_values_do_not() -> None:
    with override("es"):
        assert str(Mobility.STRETCHER.label) == "Camilla"
        assert Mobility.STRETCHER.value == str(Mobility.STRETCHER) == "stretcher"
    assert str(Mobility.STRETCHER.label) == "Stretcher"
    assert ("stretcher", "Stretcher") in [(value, str(label)) for value, label in Mobility.choices]
