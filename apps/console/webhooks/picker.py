"""The event types of the endpoint form, grouped by subject and filtered by words."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Final

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from apps.webhooks.rules.event_types import CATALOGUE, EVERYTHING, FAMILIES

TITLES: Final[Mapping[str, Promise]] = {
    "ride": _("Rides"),
    "standing_order": _("Standing orders"),
    "facility": _("Facilities"),
    "driver": _("Drivers"),
    "vehicle": _("Vehicles"),
    "export": _("Exports"),
    "token": _("API tokens"),
    "webhook": _("Webhooks themselves"),
}
CHOICES: Final = [(name, name) for name in (EVERYTHING, *FAMILIES, *CATALOGUE)]


@dataclass(frozen=True, slots=True)
class Option:
    """An event type; `is_visible` if it contains the words of the search or is ticked."""

    name: str
    description: str
    ticked: bool
    is_visible: bool


@dataclass(frozen=True, slots=True)
class Family:
    key: str
    title: Promise
    ticked: bool
    options: list[Option]

    @property
    def wildcard(self) -> str:
        return f"{self.key}.*"

    @property
    def is_visible(self) -> bool:
        return self.ticked or any(option.is_visible for option in self.options)


def families(ticked: Collection[str], words: str = "") -> list[Family]:
    """Return the families with their event types, as the form shows them."""
    search = words.lower().split()
    return [
        Family(
            key,
            title,
            f"{key}.*" in ticked,
            [
                Option(
                    event_type.name,
                    str(event_type.description).replace("`", ""),
                    event_type.name in ticked,
                    event_type.name in ticked
                    or all(word in f"{event_type.name} {event_type.description}".lower() for word in search),
                )
                for event_type in CATALOGUE.values()
                if event_type.name.partition(".")[0] == key
            ],
        )
        for key, title in TITLES.items()
    ]
