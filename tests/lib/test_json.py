"""JSON values that the API may send."""

from decimal import Decimal
from types import MappingProxyType

import pytest
from django.utils.translation import gettext_lazy

from lib.api.json import dumps


def test_decimals_are_numbers_and_lazy_texts_and_mappings_plain() -> None:
    body = {"miles": Decimal("3.25"), "label": gettext_lazy("Home"), "held": MappingProxyType({"a": 1})}

    assert dumps(body) == b'{"miles":3.25,"label":"Home","held":{"a":1}}'


def test_values_without_json_form_are_refused() -> None:
    with pytest.raises(TypeError) as refusal:
        dumps({"name": object()})

    assert str(refusal.value.__cause__) == "object has no JSON form."
