"""The credential board: who lacks which paper, what lapses next, and the same as a file."""

from collections.abc import Iterable, Sequence
from typing import Any, Final
from uuid import UUID

from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_http_methods, require_safe

from apps.accounts.console.rights import needs
from apps.accounts.services import audit
from apps.accounts.sessions import principal_of, zone_of
from apps.dispatch.console import fleet_words as words
from apps.dispatch.console.fleet_forms import KINDS, BoardFilter, DriversFilter
from apps.dispatch.queries.credential_board import Cell, Row, board
from apps.fleet.credentials import Urgency
from apps.organizations.models import TransportProvider
from lib.access import Principal
from lib.csv_file import csv_file
from lib.scopes import Scope

MOST: Final = 200  # rows of a page
_COUNTED: Final = (
    ("lapsed", "bad"),
    ("within_7", "bad"),
    ("within_30", "warn"),
    ("within_60", "info"),
    ("unverified", "warn"),
    ("sound", "ok"),
)
_KIND_WORDS: Final = {"drivers": gettext_lazy("Drivers"), "vehicles": gettext_lazy("Vehicles")}


@require_safe
@needs(Scope.DRIVERS_READ)
def credentials(request: HttpRequest) -> HttpResponse:
    """Show papers by owner and type, what lapses soonest first.  As many queries for any number of rows."""
    by, now = principal_of(request), timezone.now()
    form = BoardFilter(request.GET, providers=providers(by))
    found = board(form.asked(), by=by, at=now)
    page = Paginator(found.rows, MOST).get_page(request.GET.get("page"))
    chosen = form.value("standing")
    context = {
        "form": form,
        "query": form.query(),
        "filtered": bool(form.provider_id or chosen),
        "kind": form.kind,
        "kinds": [(label, f"?{form.query(of=kind)}", kind == form.kind) for kind, label in _KIND_WORDS.items()],
        "counts": [
            (words.NARROWED[name], tone if found.counts[name] else "quiet", found.counts[name],
             f"?{form.query(standing='' if name == chosen else name)}", name == chosen)
            for name, tone in _COUNTED
        ],
        "types": [words.paper(kind) for kind in found.types],
        "page": page,
        "rows": [_row(row, found.types, form.kind, by) for row in page],
    }  # fmt: skip
    return render(request, "fleet/credentials.html", context)


@require_safe
@needs(Scope.DRIVERS_READ)
def credentials_file(request: HttpRequest) -> HttpResponse:
    """Give all rows that the filter leaves as a file, and leave a row in the trail: they leave the house."""
    by, now = principal_of(request), timezone.now()
    form = BoardFilter(request.GET, providers=providers(by))
    found = board(form.asked(), by=by, at=now)
    audit.record(
        by=by,
        action="credentials.export",
        subject_type=KINDS[form.kind].value,
        details={"rows": len(found.rows), "types": list(found.types)},
    )
    heads = [_("Driver") if form.kind == "drivers" else _("Vehicle"), _("Provider"), _("Status")]
    for kind in found.types:
        heads += [words.paper(kind), f"{words.paper(kind)}, {_('last day')}"]
    lines = ([*_head(row, by), *_papers(row.cells), row.broken] for row in found.rows)
    day = now.astimezone(zone_of(request)).date().isoformat()
    return csv_file(f"credentials-{form.kind}-{day}", [[*heads, _("Rides after a paper lapses")], *lines])


@require_http_methods(["GET", "HEAD", "POST"])
@needs(Scope.DRIVERS_READ)
def drivers(request: HttpRequest) -> HttpResponse:
    """List drivers by name; what is searched for is sent, as names have no place in addresses."""
    by, now = principal_of(request), timezone.now()
    asked: QueryDict = request.POST if request.method == "POST" else request.GET
    form = DriversFilter(asked, providers=providers(by))
    found = board(form.asked(), by=by, at=now)
    context = {
        "form": form,
        "filtered": any(form.cleaned_data.values()),
        "most": MOST if len(found.rows) > MOST else 0,
        "rows": [_listed(row, by) for row in found.rows[:MOST]],
    }
    return render(request, "fleet/drivers.html", context)


def providers(by: Principal) -> list[tuple[UUID, str]]:
    return list(TransportProvider.objects.visible_to(by).order_by("name", "pk").values_list("pk", "name"))


def page_of(kind: str, owner_id: UUID) -> str:
    """Give the address of a driver's or a vehicle's page."""
    return reverse("fleet_driver" if kind == "drivers" else "fleet_vehicle", args=[owner_id])


def _listed(row: Row, by: Principal) -> dict[str, Any]:
    worst = row.worst
    return {
        "url": page_of("drivers", row.owner.pk),
        "name": words.name_of(row.owner, by),
        "standing": words.standing_of(row.owner),
        "provider": row.owner.provider.name,
        "worst": worst and {"badge": words.URGENCIES[worst.urgency], "text": words.state(worst)},
        "paper": worst and words.paper(worst.type),
        "given": row.given,
        "broken": row.broken,
    }


def _row(row: Row, types: Iterable[str], kind: str, by: Principal) -> dict[str, Any]:
    url = page_of(kind, row.owner.pk)
    return {
        "url": url,
        "name": words.name_of(row.owner, by),
        "standing": words.standing_of(row.owner),
        "provider": row.owner.provider.name,
        "cells": [_cell(cell, url) for cell in row.cells],
        "broken": row.broken,
    }


def _cell(cell: Cell, url: str) -> SafeString:
    """Draw a cell here and not in the template, which would take a second for two thousand of them."""
    badge = words.URGENCIES[cell.urgency]
    said = format_html('<span aria-hidden="true">{}</span> {}', badge.sign, words.state(cell))
    if cell.urgency not in (Urgency.VALID, Urgency.NOT_FILED):
        said = format_html('<a href="{}#{}">{}</a>', url, cell.type, said)
    notes = (
        cell.expires_on and cell.expires_on.isoformat(),
        words.review(cell.awaits_review),
        words.broken(cell.rides),
    )
    more = [one for one in notes if one]
    return format_html(
        '<td class="paper {} {}" data-label="{}"><span>{}{}</span></td>',
        badge.tone,
        cell.urgency.value.replace("_", "-"),
        words.paper(cell.type),
        said,
        format_html('<span class="sub">{}</span>', " · ".join(more)) if more else "",
    )


def _head(row: Row, by: Principal) -> Sequence[str]:
    return words.name_of(row.owner, by), row.owner.provider.name, str(words.standing_of(row.owner).text)


def _papers(cells: Iterable[Cell]) -> Iterable[str]:
    for cell in cells:
        yield ", ".join(filter(None, (str(words.URGENCIES[cell.urgency].text), words.review(cell.awaits_review))))
        yield cell.expires_on.isoformat() if cell.expires_on else ""
