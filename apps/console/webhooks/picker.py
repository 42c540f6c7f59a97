"""The picker of event types: grouped by what they are about, found by words."""

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
    "token": _("API tokens"),
    "webhook": _("Webhooks themselves"),
}
CHOICES: Final = [(name, name) for name in (EVERYTHING, *FAMILIES, *CATALOGUE)]


@dataclass(frozen=True, slots=True)
class Option:
    """One kind; `shown` where it has the words that are looked for, or is ticked."""

    name: str
    about: str
    ticked: bool
    shown: bool


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
    def shown(self) -> bool:
        return self.ticked or any(option.shown for option in self.options)


def families(ticked: Collection[str], words: str = "") -> list[Family]:
    """List the families with their kinds, as a form shows them."""
    wanted = words.lower().split()
    return [
        Family(
            key,
            title,
            f"{key}.*" in ticked,
            [
                Option(
                    kind.name,
                    str(kind.description).replace("`", ""),
                    kind.name in ticked,
                    kind.name in ticked or all(word in f"{kind.name} {kind.description}".lower() for word in wanted),
                )
                for kind in CATALOGUE.values()
                if kind.name.partition(".")[0] == key
            ],
        )
        for key, title in TITLES.items()
    ]
