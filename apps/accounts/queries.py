"""Queries of alerts, tokens, saved views and list preferences."""

from collections.abc import Iterable
from datetime import datetime
from typing import cast
from uuid import UUID

from django.db.models import Case, Count, IntegerField, Max, Q, Value, When
from django.db.models.functions import Greatest

from apps.accounts.models import (
    Alert,
    AlertQuerySet,
    ApiToken,
    ApiTokenQuerySet,
    ListPreferences,
    SavedView,
    SharedWith,
    User,
)
from lib.access import Principal

_ORDER = Case(
    When(severity=Alert.Severity.CRITICAL, then=Value(0)),
    When(severity=Alert.Severity.WARNING, then=Value(1)),
    default=Value(2),
    output_field=IntegerField(),
)
MOST_OPEN = 200  # alerts in one list; more of them point to another problem
MOST_VIEWS = 100  # per page, including shared ones


def open_alerts(*, by: Principal) -> tuple[list[Alert], bool]:
    """List open alerts, most severe first, then newest; return also whether there are more."""
    alerts = list(Alert.objects.visible_to(by).open().order_by(_ORDER, "-created_at", "pk")[: MOST_OPEN + 1])
    return alerts[:MOST_OPEN], len(alerts) > MOST_OPEN


def alerts_at_hand(*, by: Principal) -> tuple[list[tuple[UUID, str]], int]:
    """Return ids and severities of the newest open alerts, newest first, and the number of open ones.  Two queries."""
    open_ = Alert.objects.visible_to(by).open()
    return list(open_.order_by("-created_at", "pk").values_list("pk", "severity")[:MOST_OPEN]), open_.count()


def past_alerts(*, by: Principal) -> AlertQuerySet:
    """Return alerts that are resolved or acknowledged."""
    return Alert.objects.visible_to(by).filter(Q(resolved_at__isnull=False) | Q(acknowledged_at__isnull=False))


def inbox_version(*, by: Principal) -> str:
    """Return a short text that changes whenever the caller's open alerts change.  One query."""
    newest_and_count = Alert.objects.visible_to(by).open().aggregate(count=Count("pk"), newest=Max("created_at"))
    return f"{newest_and_count['count']} {newest_and_count['newest']}"


def inbox_changed(since: datetime, *, by: Principal) -> bool:
    """Return whether an alert visible to the caller was created or closed since then.  One query, by index."""
    changed_at = Greatest("created_at", "resolved_at", "acknowledged_at")
    return Alert.objects.visible_to(by).annotate(changed_at=changed_at).filter(changed_at__gte=since).exists()


def names_of(actors: Iterable[str]) -> dict[str, str]:
    """Return the names of the people among the actors (`user:<id>`).  One query; none without people."""
    ids = {UUID(actor.removeprefix("user:")) for actor in actors if actor.startswith("user:")}
    if not ids:
        return {}
    return {f"user:{pk}": name for pk, name in User.objects.filter(pk__in=ids).values_list("pk", "name")}


def tokens(*, by: Principal, state: str, client_id: UUID | None, at: datetime) -> ApiTokenQuerySet:
    """Return tokens with their clients: working ones (`live`), those that no longer work (`ended`), or all."""
    rows = ApiToken.objects.visible_to(by).select_related("client")
    if client_id is not None:
        rows = rows.filter(client_id=client_id)
    if state == "live":
        return rows.live(at)
    return rows.ended(at) if state == "ended" else rows


def list_preferences(page: str, *, by: Principal) -> ListPreferences | None:
    """Return the caller's preferences for a list; None if they saved none.  One query."""
    return ListPreferences.objects.filter(user_id=cast(UUID, by.id), page=page).first()


def saved_views(page: str, *, by: Principal) -> list[SavedView]:
    """List the caller's own views of a page, then those that others share, each by name.  One query.

    Views of people who have left are not shared any more.
    """
    shared = Q(shared_with=SharedWith.EVERYBODY) | Q(shared_with=SharedWith.ROLE, user__role=by.role)
    own = Q(user_id=cast(UUID, by.id))
    rows = SavedView.objects.filter(own | shared & Q(user__is_active=True), page=page).select_related("user")
    return list(rows.annotate(theirs=~own).order_by("theirs", "name", "pk")[:MOST_VIEWS])


def own_view(view_id: UUID, *, by: Principal) -> SavedView | None:
    """Return a view that the caller owns.  One query."""
    return SavedView.objects.filter(pk=view_id, user_id=cast(UUID, by.id)).first()
