"""Time zones as people name them: `CT` beside a time, `Central Time` in a sentence; never an IANA name or `+04`.

The names are those of CLDR (generic format) for zones of the United States and Canada.  A zone without daylight time,
such as Arizona, has the abbreviation of its standard time.  All other zones have the abbreviation of the IANA database
or, where that only has digits, the offset from GMT, and the name of their city.
"""

from collections import Counter
from collections.abc import Iterable
from datetime import datetime
from typing import Final
from zoneinfo import ZoneInfo

from django.utils.functional import Promise
from django.utils.text import capfirst
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

_EASTERN: Final = ("ET", gettext_lazy("Eastern Time"))
_CENTRAL: Final = ("CT", gettext_lazy("Central Time"))
_MOUNTAIN: Final = ("MT", gettext_lazy("Mountain Time"))
_PACIFIC: Final = ("PT", gettext_lazy("Pacific Time"))
_ATLANTIC: Final = ("AT", gettext_lazy("Atlantic Time"))

_ZONES: Final[dict[str, tuple[str, Promise]]] = {
    name: labels
    for labels, names in (
        (
            _EASTERN,
            "America/New_York America/Detroit America/Kentucky/Louisville America/Kentucky/Monticello "
            "America/Indiana/Indianapolis America/Indiana/Marengo America/Indiana/Petersburg America/Indiana/Vevay "
            "America/Indiana/Vincennes America/Indiana/Winamac America/Fort_Wayne America/Indianapolis "
            "America/Louisville America/Toronto America/Montreal America/Iqaluit US/Eastern US/East-Indiana "
            "US/Michigan Canada/Eastern",
        ),
        (
            _CENTRAL,
            "America/Chicago America/Indiana/Knox America/Indiana/Tell_City America/Menominee "
            "America/North_Dakota/Beulah America/North_Dakota/Center America/North_Dakota/New_Salem America/Knox_IN "
            "America/Winnipeg America/Rankin_Inlet America/Resolute US/Central US/Indiana-Starke Canada/Central",
        ),
        (
            _MOUNTAIN,
            "America/Denver America/Boise America/Shiprock America/Edmonton America/Cambridge_Bay America/Inuvik "
            "America/Yellowknife US/Mountain Canada/Mountain",
        ),
        (_PACIFIC, "America/Los_Angeles America/Vancouver US/Pacific Canada/Pacific"),
        (_ATLANTIC, "America/Halifax America/Moncton America/Glace_Bay America/Goose_Bay Canada/Atlantic"),
        (("AST", _ATLANTIC[1]), "America/Puerto_Rico America/St_Thomas America/Virgin"),
        (
            ("AKT", gettext_lazy("Alaska Time")),
            "America/Anchorage America/Juneau America/Metlakatla America/Nome America/Sitka America/Yakutat US/Alaska",
        ),
        (("HT", gettext_lazy("Hawaii-Aleutian Time")), "America/Adak America/Atka US/Aleutian"),
        (("HST", gettext_lazy("Hawaii Time")), "Pacific/Honolulu US/Hawaii"),
        (("MST", gettext_lazy("Arizona Time")), "America/Phoenix US/Arizona"),
        (("NT", gettext_lazy("Newfoundland Time")), "America/St_Johns Canada/Newfoundland"),
    )
    for name in names.split()
}


def short(local: datetime) -> str:
    """Return the label beside a local time, such as `CT`; in the hour that comes twice, `CDT` or `CST`."""
    is_repeated = local.utcoffset() != local.replace(fold=1 - local.fold).utcoffset()
    zone = local.tzinfo.key if isinstance(local.tzinfo, ZoneInfo) else ""
    return abbreviation(local) if is_repeated or zone not in _ZONES else _ZONES[zone][0]


def short_name(zone: str, at: datetime) -> str:
    """Return the short label of an IANA zone, such as `CT`; `at` matters for zones that only have abbreviations."""
    return _ZONES[zone][0] if zone in _ZONES else abbreviation(at.astimezone(ZoneInfo(zone)))


def abbreviation(local: datetime) -> str:
    """Return the abbreviation of the offset of a local time: `CST`, and `GMT+4` for zones that have none."""
    name = local.tzname() or ""
    if not name.startswith(("+", "-")):
        return name
    sign, hours, minutes = name[0], int(name[1:3]), name[3:]
    return f"GMT{sign}{hours}" + (f":{minutes}" if minutes else "")


def long_name(zone: str) -> str:
    """Return the name of an IANA zone in a sentence, in the reader's language: `Central Time`, else `Dubai time`."""
    if zone in _ZONES:
        return str(_ZONES[zone][1])
    return zone if zone == "UTC" else _("%(city)s time") % {"city": _city(zone)}


def choices(zones: Iterable[str], *, iana: bool) -> list[tuple[str, str]]:
    """Return options of IANA zones, sorted by their names.

    With `iana`, for people who set a service up: `Central Time (America/Chicago)`.  Without, the name of the zone
    alone, and the city with it where two have the same name.
    """
    names = {zone: long_name(zone) for zone in zones}
    counts = Counter(names.values())

    def label(zone: str, name: str) -> str:
        if iana:
            return name if name == zone else f"{name} ({zone})"
        return name if counts[name] == 1 else f"{name} ({_city(zone)})"

    return sorted(((zone, capfirst(label(zone, name))) for zone, name in names.items()), key=lambda option: option[1])


def _city(zone: str) -> str:
    return zone.rpartition("/")[2].replace("_", " ")
