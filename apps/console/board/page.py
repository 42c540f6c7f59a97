"""State of a board page, parsed from its URL: day, view, filters and sort order; and its reader."""

import datetime as dt
from dataclasses import dataclass, field
from typing import Any, Final, Self
from zoneinfo import ZoneInfo

from django.http import HttpRequest
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from apps.accounts.sessions import principal_of, zone_of
from apps.console.board.timeline import Reader
from apps.dispatch.queries.narrowing import BoardFilter
from apps.dispatch.rules.axis import service_day
from apps.organizations.zones import known_zones
from lib.ids import uuid_or_none
from lib.listing import SIZES, Listing, spelled

VIEWS: Final = {"timeline": _("Timeline"), "list": _("List"), "map": _("Map")}
SHOWS: Final = {
    "": _("Everything"),
    "assigned": _("Assigned"),
    "waiting": _("Unassigned"),
    "risk": _("At risk"),
    "late": _("Late"),
    "on-board": _("On board"),
    "will-call": _("Will-call waiting"),
    "done": _("Done"),
}
LIST: Final = Listing(
    "board",
    sorts={"pickup": _("Pickup"), "rider": _("Rider"), "status": _("Status"), "driver": _("Driver")},
    columns={
        "pickup": _("Pickup"),
        "needs": _("Needs"),
        "way": _("From and to"),
        "status": _("Status"),
        "driver": _("Driver"),
    },
    size=SIZES[-1],
)


@dataclass(frozen=True, slots=True)
class BoardPage:
    """Day, view, filters and sort order of a board page.

    `today` is the current service day in the reader's zone; `view` a key of `VIEWS`; `show` a key of `SHOWS`; `within`
    the filter by facility, provider and time zone.
    """

    day: dt.date
    today: dt.date
    view: str
    show: str
    within: BoardFilter = field(default_factory=BoardFilter)
    sort: str = LIST.usual  # of the list view

    @property
    def is_today(self) -> bool:
        return self.day == self.today

    @classmethod
    def today_of(cls, reader: Reader) -> Self:
        """Return the page of today: the timeline without filters."""
        today = service_day(reader.at, reader.zone.key)
        return cls(day=today, today=today, view="timeline", show="")

    def query_params(self, **changes: Any) -> dict[str, str]:
        """Return the query parameters without the sort order; omits default values.  `changes` override values."""
        filters = {"facility": self.within.facility_id, "provider": self.within.provider_id, "zone": self.within.zone}
        values = {"day": self.day, "view": self.view, "show": self.show, **filters, **changes}
        defaults = {"day": self.today, "view": "timeline"}
        return {name: str(value) for name, value in values.items() if value and value != defaults.get(name)}

    def url(self, **changes: Any) -> str:
        sort = changes.pop("sort", self.sort)
        query = spelled(self.query_params(**changes) | {"sort": "" if sort == LIST.usual else sort})
        return f"{reverse('board')}?{query}" if query else reverse("board")


def reader_of(request: HttpRequest) -> Reader:
    """Return the reader; a valid `zone` in the URL replaces the user's time zone for all times and the day."""
    zone = _zone(request.GET.get("zone", ""))
    return Reader(by=principal_of(request), zone=ZoneInfo(zone) if zone else zone_of(request), at=timezone.now())


def page_of(request: HttpRequest, reader: Reader) -> BoardPage:
    """Parse the URL; a missing or invalid value becomes the default: today, all rides, timeline."""
    today = service_day(reader.at, reader.zone.key)
    params = request.GET
    return BoardPage(
        day=_day(params.get("day", ""), today),
        today=today,
        view=params.get("view", "") if params.get("view", "") in VIEWS else "timeline",
        show=params.get("show", "") if params.get("show", "") in SHOWS else "",
        within=BoardFilter(
            facility_id=uuid_or_none(params.get("facility")),
            provider_id=uuid_or_none(params.get("provider")),
            zone=_zone(params.get("zone", "")),
        ),
        sort=LIST.sort(params.get("sort", "")),
    )


def _zone(text: str) -> str:
    return text if text in known_zones() else ""


def _day(text: str, today: dt.date) -> dt.date:
    try:
        day = dt.date.fromisoformat(text)
    except ValueError:
        return today
    return day if 2000 <= day.year < 2200 else today
