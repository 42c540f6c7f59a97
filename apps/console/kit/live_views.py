"""Live updates of pages: a stream of changes, and polling for browsers that cannot use the stream."""

import datetime as dt
from functools import partial
from typing import Final

from django.core.exceptions import BadRequest
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.http.response import HttpResponseBase
from django.utils import timezone
from django.views.decorators.http import require_GET

from apps.accounts.queries import inbox_changed, inbox_version
from apps.accounts.services.alerts import AUDIENCES
from apps.accounts.sessions import is_current, principal_of
from apps.accounts.visibility import ALERT, change_filter_for
from apps.events import queries
from apps.events.models import Event
from lib.access import Principal
from lib.live.stream import stream
from lib.pagination import CursorInvalid, digest_of, open_cursor, reach, seal_cursor

MAX_CHANGES: Final = 200  # changes per response; a page that missed more reloads everything
MAX_AGE_SECONDS: Final = 3600  # upper limit of `age`, in seconds
# Allows for the time from a change to its commit, and for a difference between the clocks of two machines.
MARGIN: Final = dt.timedelta(seconds=60)


@require_GET
def live(request: HttpRequest) -> HttpResponseBase:
    """Stream the changes that the user may see, until the session ends or its rights change."""
    return stream(request, sees=change_filter_for(principal_of(request)), is_current=partial(is_current, request))


@require_GET
def changes(request: HttpRequest) -> HttpResponse:
    """Return the changes since `after`, the cursor of an earlier response, or of the last `age` seconds.

    Without changes the status is 304 if `If-None-Match` names the cursor, else 204.  One query, two with `age`; for
    users with an inbox one query more, two with `age`, because alerts are not events.
    """
    by = principal_of(request)
    if "age" in request.GET:
        return _recent_changes(request, by)
    after = request.GET.get("after", "")
    try:
        transaction, event_id, previous_inbox = open_cursor(after, bound=_cursor_binding(by), parts=3)
    except CursorInvalid as error:
        raise BadRequest("after is no cursor of an answer before") from error
    inbox = _inbox_version(by)
    batch = queries.feed(by=by, types=None, after=(transaction, event_id), limit=MAX_CHANGES)
    if batch.has_more:
        return _changes_response([], queries.frontier(), by, inbox, resync=True)
    if batch.events:
        return _changes_response(batch.events, batch.position, by, inbox, alerts=inbox != previous_inbox)
    if inbox != previous_inbox:
        return _changes_response([], (transaction, event_id), by, inbox, alerts=True)
    unchanged = f'"{after}"'
    status = 304 if request.headers.get("If-None-Match") == unchanged else 204
    return HttpResponse(status=status, headers={"ETag": unchanged})


def _recent_changes(request: HttpRequest, by: Principal) -> HttpResponse:
    """Return the changes that a page may have missed while it loaded; changes that it already shows do no harm."""
    text = request.GET["age"]
    if not (
        text.isascii() and text.isdecimal() and len(text) <= len(str(MAX_AGE_SECONDS)) and int(text) <= MAX_AGE_SECONDS
    ):
        raise BadRequest("age is no number of seconds")
    position = queries.frontier()  # before the query of changes, so that none is missed in between
    since = timezone.now() - dt.timedelta(seconds=int(text)) - MARGIN
    inbox = _inbox_version(by)
    events = queries.made_since(since, by=by, most=MAX_CHANGES + 1)
    alerts = bool(inbox) and inbox_changed(since, by=by)
    return _changes_response(
        [] if len(events) > MAX_CHANGES else events,
        position,
        by,
        inbox,
        alerts=alerts,
        resync=len(events) > MAX_CHANGES,
    )


def _inbox_version(by: Principal) -> str:
    return inbox_version(by=by) if by.scopes & AUDIENCES else ""


def _changes_response(
    events: list[Event],
    position: queries.Position,
    by: Principal,
    inbox: str,
    *,
    alerts: bool = False,
    resync: bool = False,
) -> HttpResponse:
    cursor = seal_cursor([*position, inbox], bound=_cursor_binding(by))
    changes = [{"subject": event.subject_type, "id": str(event.subject_id), "type": event.type} for event in events]
    if alerts and not resync:
        changes.append({"subject": ALERT, "id": "", "type": ALERT})
    return JsonResponse({"changes": changes, "resync": resync, "cursor": cursor}, headers={"ETag": f'"{cursor}"'})


def _cursor_binding(by: Principal) -> bytes:
    return digest_of(["live", reach(by)])
