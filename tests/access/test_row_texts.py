"""Text of rows in the admin and in logs: only their id if their columns may name a person."""

from typing import Any, Final

import pytest
from django.apps import apps
from django.db import models

from lib.ids import uuid7

CANARY: Final = "Canarytext"
# Models whose text contains only places, things and codes, and may be logged.
SPOKEN: Final = {
    "ApiClient": "name",
    "ApiToken": "key_id",
    "CapacityConfig": "name",
    "Entrance": "name",
    "EscalationPolicy": "name",
    "Facility": "name",
    "HomeBase": "name",
    "Payer": "name",
    "ReasonCode": "code",
    "TransportProvider": "name",
    "Vehicle": "unit_number",
}
MODELS: Final = [
    model for config in apps.get_app_configs() if config.name.startswith("apps.") for model in config.get_models()
]


def _filled(model: type[models.Model]) -> Any:
    """Return an unsaved row with the same word in every text column."""
    row = model(pk=7 if isinstance(model._meta.pk, models.IntegerField) else uuid7())
    for column in model._meta.concrete_fields:
        if isinstance(column, models.CharField | models.TextField):
            setattr(row, column.attname, CANARY)
    return row


def test_every_spoken_column_belongs_to_a_model() -> None:
    assert SPOKEN.keys() <= {model.__name__ for model in MODELS}


@pytest.mark.parametrize("model", MODELS)
def test_row_calls_itself_by_its_id_or_by_what_names_nobody(model: type[models.Model]) -> None:
    row = _filled(model)

    said = str(row)

    if model.__name__ in SPOKEN:
        setattr(row, SPOKEN[model.__name__], "seven")
        assert said.split()[-1] == CANARY
        assert str(row).split()[-1] == "seven"
    else:
        assert CANARY not in said
        assert said.split()[-1] == str(row.pk)
