"""The navigation of the console: its pages in groups, filtered by the user's permissions.

To add a page, add an `Entry` to a group of `CONTENTS`.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property
from typing import Any, Final

from django.conf import settings
from django.db.models import Count, QuerySet, Value
from django.http import HttpRequest
from django.urls import reverse
from django.utils import timezone
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from apps.accounts.models import Alert
from apps.accounts.services import alerts
from apps.accounts.sessions import principal_of, seconds_left
from apps.console.account.adapters import needs_passkey
from apps.riders.labels import may_name
from apps.rides.queries import exception_queue
from lib.access import Principal
from lib.clocks import shows_twelve_hours
from lib.privacy_mode import shows_initials
from lib.scopes import Scope

Text = str | Promise


@dataclass(frozen=True, slots=True, eq=False)  # compared by identity: labels, and so their hash, depend on the language
class Entry:
    """A page: `address` is a URL name or a path.

    A user needs the `permission` of /admin/ and one of `scopes`; without either, any signed-in user may open it.
    Users who are bound to providers do not see an entry with `hidden_from_providers`, whatever their scopes.
    """

    label: Text
    address: str
    icon: str
    about: Text
    permission: str = ""
    scopes: frozenset[str] = frozenset()
    hidden_from_providers: bool = False
    keys: str = ""  # keyboard shortcut from any page: keys pressed one after the other

    @property
    def url(self) -> str:
        return self.address if self.address.startswith("/") else reverse(self.address)

    def is_visible_to(self, user: Any) -> bool:
        if self.hidden_from_providers and user.is_bound_to_providers:
            return False
        return bool(
            (not self.permission or user.has_perm(self.permission)) and (not self.scopes or self.scopes & user.scopes)
        )


@dataclass(frozen=True, slots=True)
class Group:
    """A group of entries; the entries of a `folded` group are hidden until the user expands it.

    `icon` stands for the group where only groups are listed.
    """

    label: Text
    entries: tuple[Entry, ...]
    folded: bool = False
    icon: str = ""


def _table(label: Text, model: str, icon: str, about: Text, keys: str = "") -> Entry:
    app, _dot, name = model.partition(".")
    return Entry(label, f"admin:{app}_{name}_changelist", icon, about, f"{app}.view_{name}", keys=keys)


def _scoped(label: Text, address: str, icon: str, about: Text, scope: str, keys: str = "") -> Entry:
    return Entry(label, address, icon, about, scopes=frozenset({scope}), keys=keys)


HOME: Final = Entry(_("Home"), "home", "house", _("Overview"), keys="g h")
INBOX: Final = Entry(_("Inbox"), "inbox", "bell", _("System alerts"), scopes=alerts.AUDIENCES)

BOARD: Final = _scoped(
    _("Dispatch board"),
    "board",
    "square-kanban",
    _("Today's rides by driver, and unassigned rides"),
    Scope.ASSIGNMENTS_WRITE,
    "g b",
)
EXCEPTIONS: Final = _scoped(
    _("Exceptions"),
    "exceptions",
    "alarm-clock",
    _("What needs action now, most severe first"),
    Scope.EXCEPTIONS_READ,
    "g e",
)

DAY: Final = Entry(
    _("Facility rides"),
    "planner_day",
    "bed",
    _("Patients waiting, rides under way, and what needs your attention"),
    scopes=frozenset({Scope.RIDES_WRITE}),
    hidden_from_providers=True,
)
CREDENTIALS: Final = _scoped(
    _("Credential board"),
    "credential_board",
    "shield-check",
    _("Credential status and expirations"),
    Scope.DRIVERS_READ,
    "g c",
)
DELIVERIES: Final = _scoped(
    _("Deliveries"),
    "webhook_deliveries",
    "send",
    _("Sent events and their results"),
    Scope.WEBHOOKS_MANAGE,
)

CONTENTS: Final = (
    Group(
        _("Rides"),
        (
            BOARD,
            DAY,
            Entry(
                _("Book a ride"),
                "book_ride",
                "calendar-plus",
                _("A discharge, an appointment, a transfer"),
                scopes=frozenset({Scope.RIDES_WRITE}),
                hidden_from_providers=True,
                keys="c",
            ),
            Entry(
                _("Recurring rides"),
                "standing_orders",
                "list-restart",
                _("Standing orders, holds and holiday weeks"),
                scopes=frozenset({Scope.RIDES_READ}),
                hidden_from_providers=True,
                keys="g o",
            ),
            EXCEPTIONS,
            _scoped(
                _("Handover"),
                "handover",
                "repeat",
                _("Open work and a note for the next dispatcher"),
                Scope.ASSIGNMENTS_WRITE,
                "g v",
            ),
        ),
        icon="route",
    ),
    Group(
        _("Fleet"),
        (
            CREDENTIALS,
            _scoped(
                _("Drivers"),
                "fleet_drivers",
                "id-card",
                _("A driver's credentials, shifts and leave, and whether they may drive"),
                Scope.DRIVERS_READ,
                "g d",
            ),
            _scoped(
                _("Schedule"),
                "fleet_shifts",
                "calendar-days",
                _("Shifts by week"),
                Scope.DRIVERS_READ,
                "g s",
            ),
        ),
        icon="truck",
    ),
    Group(
        _("Reports"),
        (
            _scoped(
                _("Reports"),
                "reports",
                "chart-no-axes-column",
                _("On time, completed, no-shows: by facility and over time"),
                Scope.REPORTS_READ,
                "g r",
            ),
            _scoped(
                _("Export destinations"),
                "export_destinations",
                "upload",
                _("Buckets and servers that receive exports, and their status"),
                Scope.DESTINATIONS_MANAGE,
            ),
        ),
        icon="chart-no-axes-column",
    ),
    Group(
        _("Developers"),
        (
            _scoped(
                _("Webhooks"),
                "webhook_endpoints",
                "webhook",
                _("Systems that receive events, and their status"),
                Scope.WEBHOOKS_MANAGE,
            ),
            DELIVERIES,
            _scoped(
                _("API tokens"),
                "api_tokens",
                "key-round",
                _("What each system may do, until when"),
                Scope.TOKENS_MANAGE,
            ),
            Entry(_("API documentation"), "docs-reference", "book-open", _("Every operation, with examples")),
            Entry(_("Health"), "/api/health/ready", "heart-pulse", _("System status")),
        ),
        icon="code",
    ),
    Group(
        _("Organizations"),
        (
            _table(_("Facilities"), "organizations.facility", "hospital", _("Places of care and their service levels")),
            _table(
                _("Transport providers"), "organizations.transportprovider", "car-front", _("Transportation companies")
            ),
            _table(_("Garages"), "organizations.homebase", "warehouse", _("Garages")),
            _table(_("Payers"), "organizations.payer", "credit-card", _("Payers and signature rules")),
            _table(_("Escalation policies"), "organizations.escalationpolicy", "clock", _("Escalation contacts")),
            _table(_("Reason codes"), "rides.reasoncode", "ban", _("Your own reasons for cancellations and no-shows")),
            _table(_("HCPCS codes"), "exports.suggestedcode", "file-text", _("HCPCS codes that exports suggest")),
        ),
        icon="building-2",
    ),
    Group(
        _("Access"),
        (
            _table(_("Users"), "accounts.user", "user-plus", _("Accounts, roles and memberships")),
            _table(_("API clients"), "accounts.apiclient", "plug", _("Systems that use the API")),
            _table(_("Audit trail"), "audit.auditentry", "scroll-text", _("Who saw or changed what")),
        ),
        icon="lock",
    ),
    # Stored records, for looking something up; the pages above are for daily work.
    Group(
        _("Data"),
        (
            _table(_("All rides"), "rides.ride", "route", _("One leg each, with its status and history")),
            _table(_("All trips"), "rides.trip", "git-branch", _("Linked legs of a trip")),
            _table(_("All assignments"), "rides.assignment", "list-checks", _("Driver assignments over time")),
            _table(_("All milestones"), "rides.milestone", "flag", _("Departed, arrived, on board: times and sources")),
            _table(
                _("All exceptions"), "rides.rideexception", "triangle-alert", _("Open and closed, with what was done")
            ),
            _table(_("All riders"), "riders.rider", "user-round", _("Rider records; every access is logged")),
            _table(
                _("What riders need"), "riders.accommodationprofile", "accessibility", _("Accommodations, by version")
            ),
            _table(_("All drivers"), "fleet.driver", "users", _("Add and edit driver records")),
            _table(_("All vehicles"), "fleet.vehicle", "truck", _("Vehicles and how many they carry")),
            _table(_("All credentials"), "fleet.credential", "badge-check", _("Credentials of drivers and vehicles")),
            _table(_("All shifts"), "fleet.shift", "layout-list", _("Driver, vehicle and hours")),
            _table(_("All handovers"), "dispatch.handover", "history", _("Sign-offs of dispatchers, with their notes")),
            _table(_("All events"), "events.event", "activity", _("Everything that happened, in order")),
        ),
        folded=True,
        icon="rows-3",
    ),
)


# Other keyboard shortcuts of pages: the script of the page handles them, the list of all shortcuts shows them.
PAGE_KEYS: Final = (
    (
        BOARD,
        (
            ("q", _("Go to queue")),
            ("\N{LEFTWARDS ARROW} \N{RIGHTWARDS ARROW}", _("Previous and next ride")),
            ("\N{UPWARDS ARROW} \N{DOWNWARDS ARROW}", _("Previous and next driver")),
            ("a", _("Assign")),
            ("u", _("Unassign the driver")),
            ("o", _("Report the driver out")),
            ("r", _("Ready now")),
            ("x", _("Select")),
            ("t", _("Jump to now")),
            ("+ -", _("Zoom in and out")),
            ("[ ]", _("Earlier and later day")),
        ),
    ),
    (
        EXCEPTIONS,
        (
            ("j k", _("Down and up")),
            ("e", _("Claim")),
            ("s", _("Snooze")),
            ("o", _("Open the ride")),
        ),
    ),
)


def contents_for(user: Any) -> list[Group]:
    """Return the groups with the entries that the user may open, without empty groups."""
    groups = (
        replace(group, entries=tuple(entry for entry in group.entries if entry.is_visible_to(user)))
        for group in CONTENTS
    )
    return [group for group in groups if group.entries]


# Queries of the open items of an entry.
_COUNTED: Final[dict[Entry, Callable[[Principal], QuerySet[Any]]]] = {
    INBOX: lambda by: Alert.objects.visible_to(by).open(),
    EXCEPTIONS: lambda by: exception_queue.open_critical(by=by),
}


def shell(request: HttpRequest) -> dict[str, Any]:
    """Template context of every page; evaluated only if a template uses it."""
    user = getattr(request, "user", None)
    return {"shell": Shell(request) if user is not None and user.is_authenticated else {}}


class Shell:
    """Context of the frame around a page.  Each part is computed on first use: HTML fragments use none."""

    def __init__(self, request: HttpRequest) -> None:
        self._request = request
        self._user: Any = request.user

    @cached_property
    def navigation(self) -> list[dict[str, Any]]:
        """The groups of entries that the user may open, with counts of open items."""
        own = Group("", tuple(entry for entry in (HOME, INBOX) if entry.is_visible_to(self._user)))
        return [self._group(group) for group in (own, *contents_for(self._user))]

    def _group(self, group: Group) -> dict[str, Any]:
        entries = [
            {
                "label": entry.label,
                "url": entry.url,
                "icon": entry.icon,
                "current": self._request.path.startswith(entry.url),
                "count": self._open_counts.get(entry),
                "is_inbox": entry is INBOX,
                "keys": entry.keys.split(),
            }
            for entry in group.entries
        ]
        is_open = not group.folded or any(entry["current"] for entry in entries)
        return {
            "label": group.label,
            "icon": group.icon,
            "entries": entries,
            "folded": group.folded,
            "open": is_open,
            "current": any(entry["current"] for entry in entries),
            "count": sum(entry["count"] or 0 for entry in entries if not entry["is_inbox"]),
        }

    @cached_property
    def page_keys(self) -> list[tuple[Text, list[tuple[list[str], Text]]]]:
        """The keyboard shortcuts of single pages, with the label of the page."""
        return [
            (entry.label, [(names.split(), description) for names, description in keys])
            for entry, keys in PAGE_KEYS
            if entry.is_visible_to(self._user)
        ]

    @cached_property
    def now(self) -> datetime:
        return timezone.localtime()

    @cached_property
    def privacy(self) -> dict[str, Any] | None:
        """State of privacy mode and the URL that its switch returns to; None for users who see no rider names."""
        if not may_name(principal_of(self._request)):
            return None
        # Tables of /admin/ show full stored names, so the mark of privacy mode is not shown there.
        is_table = self._request.path.startswith(reverse("admin:index"))
        back = self._request.get_full_path() if self._request.method in {"GET", "HEAD"} else ""
        return {"on": shows_initials(), "marked": shows_initials() and not is_table, "back": back}

    @property
    def twelve_hours(self) -> bool:
        return shows_twelve_hours()

    @cached_property
    def idle(self) -> dict[str, int]:
        """Seconds until the session expires without another request, and how many before that the page warns."""
        return {"left": int(seconds_left(self._request)), "warning": settings.SESSION_WARNING_SECONDS}

    @property
    def has_inbox(self) -> bool:
        return INBOX.is_visible_to(self._user)

    @property
    def inbox(self) -> int | None:
        """The number of open alerts; None for users without an inbox."""
        return self._open_counts.get(INBOX)

    @property
    def needs_passkey(self) -> bool:
        return settings.MFA_REQUIRED and needs_passkey(self._user)

    @cached_property
    def _open_counts(self) -> dict[Entry, int]:
        """Numbers of open items of the entries that the user may open.  One query for all of them."""
        by = principal_of(self._request)
        entries = [entry for entry in _COUNTED if entry.is_visible_to(self._user)]
        if not entries:
            return {}
        counts = [
            _COUNTED[entry](by).order_by().values(place=Value(place)).annotate(count=Count("pk"))
            for place, entry in enumerate(entries)
        ]
        count_by_place = {row["place"]: row["count"] for row in counts[0].union(*counts[1:], all=True)}
        return {entry: count_by_place.get(place, 0) for place, entry in enumerate(entries)}
