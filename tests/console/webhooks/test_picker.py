"""The event types that the endpoint form offers."""

from apps.console.webhooks.picker import TITLES, families
from apps.webhooks.rules.event_types import CATALOGUE, FAMILIES


def test_every_family_of_event_types_has_a_title() -> None:
    assert {f"{key}.*" for key in TITLES} == set(FAMILIES)


def test_every_event_type_can_be_chosen() -> None:
    offered = {option.name for family in families([]) for option in family.options}

    assert offered == set(CATALOGUE)
