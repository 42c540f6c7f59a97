"""What a page of the board is asked for, by its address, and by whom."""

import datetime as dt
from dataclasses import dataclass
from typing import Any, Final, Self

from django.http import HttpRequest
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from apps.accounts.sessions import principal_of, zone_of
from apps.dispatch.axis import service_day
from apps.dispatch.console.timeline import Reader

VIEWS: Final = {"timeline": _("Timeline"), "list": _("List"), "map": _("Map")}
SHOWS: Final = {
    "": _("Everything"),
    "waiting": _("Unassigned"),
    "will-call": _("Will-call waiting"),
    "late": _("Late or foreseen"),
}


@dataclass(frozen=True, slots=True)
class Page:
    """What a page of the board is asked for, by its address."""

    day: dt.date
    today: dt.date
    view: str
    show: str

    @property
    def is_today(self) -> bool:
        return self.day == self.today

    @classmethod
    def today_of(cls, reader: Reader) -> Self:
        """Give the whole of today, as a timeline."""
        today = service_day(reader.at, reader.zone.key)
        return cls(day=today, today=today, view="timeline", show="")

    def url(self, **changes: Any) -> str:
        values = {"day": self.day, "view": self.view, "show": self.show, **changes}
        if values["day"] == self.today:
            del values["day"]
        if values["view"] == "timeline":
            del values["view"]
        query = "&".join(f"{name}={value}" for name, value in values.items() if value)
        return f"{reverse('board')}?{query}" if query else reverse("board")


def reader_of(request: HttpRequest) -> Reader:
    return Reader(by=principal_of(request), zone=zone_of(request), at=timezone.now())


def page_of(request: HttpRequest, reader: Reader) -> Page:
    """Read the day, the view and the filter out of the address; what is none of them is today, whole, as a timeline."""
    today = service_day(reader.at, reader.zone.key)
    asked = request.GET
    return Page(
        day=_day(asked.get("day", ""), today),
        today=today,
        view=asked.get("view", "") if asked.get("view", "") in VIEWS else "timeline",
        show=asked.get("show", "") if asked.get("show", "") in SHOWS else "",
    )


def _day(text: str, today: dt.date) -> dt.date:
    try:
        day = dt.date.fromisoformat(text)
    except ValueError:
        return today
    return day if 2000 <= day.year < 2200 else today
