"""Assigning accepted suggestions, and unassigning them again: both in portions, with the progress on a page.

What is left to do is in the session, so that a page that is closed leaves nothing behind but unchanged rides.  The page
goes on by itself; without scripts, by a button.
"""

from collections.abc import Sequence
from typing import Any, Final
from uuid import UUID

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_http_methods, require_POST

from apps.accounts.sessions import principal_of
from apps.console.board.acting_views import UNDO_REASON
from apps.console.board.forms import parse_accepted
from apps.console.board.selection_views import back, refused_rows
from apps.console.kit.rights import UNPROCESSABLE, require_scope
from apps.dispatch.services import planning
from apps.dispatch.services.planning import Chosen, SelectionResult
from lib.scopes import Scope

PORTION: Final = 20  # rides in one request: about a second
_BATCH: Final = "board_batch"
_UNDOABLE: Final = "board_undoable"  # the rides that were assigned last, each as [id, version]
UNDO_TAG: Final = "undo-accepted"  # a message with this tag has the button Undo, see includes/messages.html


@require_POST
@require_scope(Scope.ASSIGNMENTS_WRITE)
def accept(request: HttpRequest) -> HttpResponse:
    """Assign the suggested drivers: all of them, or the suggestion whose button was pressed (`one`).

    A ride that changed after the preview stays unchanged and is listed with the reason.
    """
    single = request.POST.getlist("one")
    texts = single or request.POST.getlist("suggestion")
    try:
        parse_accepted(texts)
    except ValueError:
        messages.error(request, _("Select at least one suggestion."))
        return redirect(back(request))
    return _begin(request, texts, undoes=False, back_url=back(request, "again" if single else "back"))


@require_POST
@require_scope(Scope.ASSIGNMENTS_WRITE)
def undo(request: HttpRequest) -> HttpResponse:
    """Unassign the rides that were accepted last, except those that have changed since.  Works once."""
    rides = request.session.pop(_UNDOABLE, [])
    if not rides:
        messages.error(request, _("There is nothing to undo."))
        return redirect("board")
    return _begin(request, rides, undoes=True, back_url=back(request))


@require_http_methods(["GET", "HEAD", "POST"])
@require_scope(Scope.ASSIGNMENTS_WRITE)
def batch(request: HttpRequest) -> HttpResponse:
    """Show how far a batch has come and, when it is done, the rides that stayed as they were.  POST does a portion."""
    state = request.session.get(_BATCH)
    if state is None:
        return redirect("board")
    if request.method == "POST" and state["todo"]:
        _do_portion(request, state)
    if state["todo"]:
        is_part = "HX-Request" in request.headers
        return render(request, "dispatch/batch_progress.html" if is_part else "dispatch/batch.html", _progress(state))
    url = request.path if state["refused"] else state["back"]
    if "HX-Request" in request.headers:
        return HttpResponse(headers={"HX-Redirect": url})
    return _results(request, state) if state["refused"] else redirect(url)


def _begin(request: HttpRequest, todo: Sequence[Any], *, undoes: bool, back_url: str) -> HttpResponse:
    state = {"todo": list(todo), "total": len(todo), "undoes": undoes, "back": back_url, "done": [], "refused": []}
    request.session[_BATCH] = state
    _do_portion(request, state)
    if state["todo"]:
        return redirect("board_batch")
    return _results(request, state) if state["refused"] else redirect(back_url)


def _do_portion(request: HttpRequest, state: dict[str, Any]) -> None:
    portion, state["todo"] = state["todo"][:PORTION], state["todo"][PORTION:]
    by, now = principal_of(request), timezone.now()
    if state["undoes"]:
        chosen = [Chosen(UUID(ride_id), version) for ride_id, version in portion]
        results = planning.unassign_all(selection=chosen, reason_code=UNDO_REASON, by=by, at=now)
    else:
        results = planning.accept_all(suggestions=parse_accepted(portion), by=by, at=now)
    state["done"] += [[str(result.ride_id), result.ride.version] for result in results if result.ride is not None]
    state["refused"] += [_refusal(result) for result in results if result.refusal is not None]
    request.session.modified = True
    if not state["todo"]:
        _report(request, state)


def _refusal(result: SelectionResult) -> list[Any]:
    """Return ride, message and reasons of a refusal in the language of the reader, for the end of the batch."""
    refusal = result.refusal
    texts = [str(detail.text) for detail in refusal.details] if refusal else []
    return [str(result.ride_id), str(refusal), texts]


def _progress(state: dict[str, Any]) -> dict[str, Any]:
    return {"total": state["total"], "done": state["total"] - len(state["todo"]), "undoes": state["undoes"]}


def _results(request: HttpRequest, state: dict[str, Any]) -> HttpResponse:
    """List the rides that stayed as they were, with the reasons (422)."""
    rows = refused_rows(request, [(UUID(ride_id), text, reasons) for ride_id, text, reasons in state["refused"]])
    context = {"rows": rows, "back": state["back"]}
    return render(request, "dispatch/selection.html", context, status=UNPROCESSABLE)


def _report(request: HttpRequest, state: dict[str, Any]) -> None:
    """Say at the end of a batch what was done, and keep what can be undone."""
    count = len(state["done"])
    if count and state["undoes"]:
        text = ngettext("%(n)s ride is unassigned again.", "%(n)s rides are unassigned again.", count)
        messages.success(request, text % {"n": count})
    elif count:
        request.session[_UNDOABLE] = state["done"]
        text = ngettext("%(n)s ride is assigned.", "%(n)s rides are assigned.", count)
        messages.success(request, text % {"n": count}, extra_tags=UNDO_TAG)
