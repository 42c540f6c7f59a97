"""Bulk actions on selected rides: assign one driver to all of them, or unassign all of them."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_POST

from apps.accounts.sessions import principal_of, zone_of
from apps.console.board.forms import SelectionForm
from apps.console.kit.rights import UNPROCESSABLE, require_scope
from apps.dispatch.services import planning
from apps.dispatch.services.planning import SelectionResult
from apps.riders.labels import rider_name
from apps.rides.models import Ride
from lib.clocks import exact_clock
from lib.scopes import Scope


@require_POST
@require_scope(Scope.ASSIGNMENTS_WRITE)
def act(request: HttpRequest) -> HttpResponse:
    """Assign or unassign each selected ride on its own: a refused ride stays unchanged and is listed with reasons."""
    form = SelectionForm(request.POST)
    if not form.is_valid():
        return _error_redirect(request, " ".join(str(error) for errors in form.errors.values() for error in errors))
    values, by, now = form.cleaned_data, principal_of(request), timezone.now()
    if values["driver_id"]:
        outcomes = planning.assign_all(
            selection=values["ride"],
            driver_id=values["driver_id"],
            override_reason=values["override_reason"],
            by=by,
            at=now,
        )
    elif values["reason_code"]:
        outcomes = planning.unassign_all(selection=values["ride"], reason_code=values["reason_code"], by=by, at=now)
    else:
        return _error_redirect(request, _("Choose a driver, or a reason to unassign."))
    return results_response(request, outcomes)


def results_response(request: HttpRequest, outcomes: list[SelectionResult]) -> HttpResponse:
    """Report the outcomes of several rides: redirect, or list the refused rides with their reasons (422)."""
    changed = sum(result.ride is not None for result in outcomes)
    refused = [(result.ride_id, result.refusal) for result in outcomes if result.refusal is not None]
    if changed:
        messages.success(
            request, ngettext("%(n)s ride is changed.", "%(n)s rides are changed.", changed) % {"n": changed}
        )
    if not refused:
        return redirect(back(request))
    rows = refused_rows(
        request,
        [(ride_id, str(refusal), [str(detail.text) for detail in refusal.details]) for ride_id, refusal in refused],
    )
    return render(request, "dispatch/selection.html", {"rows": rows, "back": back(request)}, status=UNPROCESSABLE)


def refused_rows(request: HttpRequest, refused: Sequence[tuple[UUID, str, Sequence[str]]]) -> list[dict[str, Any]]:
    """Return the rows of rides that were not changed, each with the message and the reasons of the refusal."""
    by = principal_of(request)
    rides = Ride.objects.visible_to(by).select_related("rider").in_bulk([ride_id for ride_id, *_rest in refused])
    return [
        {
            "ride": ride,
            "name": rider_name(ride.rider, by) if ride else _("A ride that you cannot open"),
            "clock": exact_clock(ride.pickup_at.astimezone(zone_of(request))) if ride else "",
            "message": text,
            "reasons": [reason for reason in reasons if reason != text],
        }
        for ride, text, reasons in ((rides.get(ride_id), text, reasons) for ride_id, text, reasons in refused)
    ]


def _error_redirect(request: HttpRequest, message: str) -> HttpResponse:
    messages.error(request, message)
    return redirect(back(request))


def back(request: HttpRequest, name: str = "back") -> str:
    """Return the URL in a form field if it belongs to the board, else the board's URL: no open redirect."""
    url = request.POST.get(name, "")
    is_board_url = url.startswith(reverse("board")) and url_has_allowed_host_and_scheme(url, allowed_hosts=None)
    return url if is_board_url else reverse("board")
