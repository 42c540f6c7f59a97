"""The credential board: missing and expiring credentials by driver or vehicle, also as a file."""

from collections.abc import Collection, Iterable, Sequence
from functools import partial
from typing import Any, Final, cast
from uuid import UUID

from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_http_methods, require_safe

from apps.accounts.sessions import principal_of
from apps.console.fleet import labels
from apps.console.fleet.credential_board import BROKEN, NAME, SOONEST, Cell, OwnerRow, board
from apps.console.fleet.forms import CREDENTIALS, DRIVERS, KINDS, CredentialBoardFilter, DriversFilter
from apps.console.kit.list_export import exported
from apps.console.kit.lists import Filters, arranged, views_of
from apps.console.kit.rights import require_scope
from apps.fleet.rules.credentials import Urgency
from apps.organizations.models import TransportProvider
from lib import dates
from lib.access import Principal
from lib.scopes import Scope

_COUNTED: Final = (
    ("not_valid", "bad"),
    ("within_7", "bad"),
    ("within_30", "warn"),
    ("within_60", "info"),
    ("unverified", "warn"),
    ("sound", "ok"),
)
_KIND_WORDS: Final = {"": gettext_lazy("Drivers"), "vehicles": gettext_lazy("Vehicles")}


@require_safe
@require_scope(Scope.DRIVERS_READ)
def credentials(request: HttpRequest) -> HttpResponse:
    """Show credentials by owner and type, soonest to expire first.  The number of queries is constant."""
    by, now = principal_of(request), timezone.now()
    filters = credential_filters(by)
    form = cast(CredentialBoardFilter, filters(request.GET))
    sort = CREDENTIALS.sort(request.GET.get("sort", ""))
    result = board(form.board_query(sort), by=by, at=now)
    columns = {name: label for name, label in CREDENTIALS.columns.items() if name in (BROKEN, *result.types)}
    list_state = arranged(request, CREDENTIALS, form.parameters(), offered=columns)
    types = [kind for kind in result.types if kind in list_state.columns]
    page = Paginator(result.rows, list_state.rows).get_page(request.GET.get("page"))
    selected = form.value("status")
    context = {
        "form": form,
        "shown": list_state,
        "filtered": bool(form.provider_id or selected),
        "kind": form.kind,
        "kinds": [
            (label, list_state.address(of=of, sort=_sort_of_all(list_state.sort)), (of or "drivers") == form.kind)
            for of, label in _KIND_WORDS.items()
        ],
        "counts": [
            (labels.NARROWED[name], tone if result.counts[name] else "quiet", result.counts[name],
             list_state.address(status="" if name == selected else name), name == selected)
            for name, tone in _COUNTED
        ],
        "types": [(kind, labels.credential_label(kind)) for kind in types],
        "page": page,
        "rows": [_row(row, list_state.columns, form.kind, by) for row in page],
    }  # fmt: skip
    return render(request, "fleet/credentials.html", context | views_of(request, list_state, filters))


@require_safe
@require_scope(Scope.DRIVERS_READ)
def credentials_file(request: HttpRequest) -> HttpResponse:
    """Download all rows of the filter as a CSV file, and record the export in the audit trail."""
    by, now = principal_of(request), timezone.now()
    form = CredentialBoardFilter(request.GET, providers=providers(by))
    result = board(form.board_query(CREDENTIALS.sort(request.GET.get("sort", ""))), by=by, at=now)
    heads = [_("Driver") if form.kind == "drivers" else _("Vehicle"), _("Provider"), _("Status")]
    for kind in result.types:
        heads += [labels.credential_label(kind), f"{labels.credential_label(kind)}, {_('expiration date')}"]
    lines = ([*_head(row, by), *_credential_texts(row.cells), row.broken] for row in result.rows)
    return exported(
        request,
        f"credentials-{form.kind}",
        [[*heads, _("Rides after a credential expires")], *lines],
        action="credentials.export",
        subject_type=KINDS[form.kind].value,
        at=now,
        details={"types": list(result.types)},
    )


@require_http_methods(["GET", "HEAD", "POST"])
@require_scope(Scope.DRIVERS_READ)
def drivers(request: HttpRequest) -> HttpResponse:
    """List drivers by name; the search form is sent by POST, because URLs must not contain names."""
    by, now = principal_of(request), timezone.now()
    sent = request.method == "POST"
    filters = driver_filters(by)
    form = cast(DriversFilter, filters(request.POST if sent else request.GET))
    list_state = arranged(request, DRIVERS, form.parameters(), sent=sent)
    result = board(form.board_query(list_state.sort), by=by, at=now)
    page = Paginator(result.rows, list_state.rows).get_page(None if sent else request.GET.get("page"))
    context = {
        "form": form,
        "shown": list_state,
        "filtered": any(form.cleaned_data.values()),
        "most": list_state.rows if sent and page.has_other_pages() else 0,
        "page": page,
        "rows": [_driver_row(row, by) for row in page],
    }
    return render(request, "fleet/drivers.html", context | views_of(request, list_state, filters))


def credential_filters(by: Principal) -> Filters:
    """Return the factory of the board's filter forms.  One query, for any number of forms."""
    return partial(CredentialBoardFilter, providers=providers(by))


def driver_filters(by: Principal) -> Filters:
    """Return the factory of the driver list's filter forms.  One query, for any number of forms."""
    return partial(DriversFilter, providers=providers(by))


def _sort_of_all(sort: str) -> str:
    """Return a sort order that is valid for both drivers and vehicles: the default for that of a credential type."""
    return sort if sort.removeprefix("-") in (NAME, BROKEN) else SOONEST


def providers(by: Principal) -> list[tuple[UUID, str]]:
    return list(TransportProvider.objects.visible_to(by).order_by("name", "pk").values_list("pk", "name"))


def owner_url(kind: str, owner_id: UUID) -> str:
    """Return the URL of the page of a driver or vehicle."""
    return reverse("fleet_driver" if kind == "drivers" else "fleet_vehicle", args=[owner_id])


def _driver_row(row: OwnerRow, by: Principal) -> dict[str, Any]:
    worst = row.worst
    return {
        "url": owner_url("drivers", row.owner.pk),
        "name": labels.name_of(row.owner, by),
        "status": labels.status_badge(row.owner),
        "provider": row.owner.provider.name,
        "worst": worst and {"badge": labels.URGENCIES[worst.urgency], "text": labels.state(worst)},
        "credential": worst and labels.credential_label(worst.type),
        "given": row.given,
        "broken": row.broken,
    }


def _row(row: OwnerRow, columns: Collection[str], kind: str, by: Principal) -> dict[str, Any]:
    url = owner_url(kind, row.owner.pk)
    return {
        "url": url,
        "name": labels.name_of(row.owner, by),
        "status": labels.status_badge(row.owner),
        "provider": row.owner.provider.name,
        "cells": [_cell(cell, url) for cell in row.cells if cell.type in columns],
        "broken": row.broken,
    }


def _cell(cell: Cell, url: str) -> SafeString:
    """Render a cell in Python: a template takes a second for 2,000 cells."""
    badge = labels.URGENCIES[cell.urgency]
    text = format_html('<span aria-hidden="true">{}</span> {}', badge.sign, labels.state(cell))
    if cell.urgency not in (Urgency.VALID, Urgency.NOT_FILED):
        text = format_html('<a href="{}#{}">{}</a>', url, cell.type, text)
    notes = (
        cell.expires_on and dates.plain_day(cell.expires_on),
        labels.review(cell.awaits_review),
        labels.broken(cell.rides),
    )
    sub_notes = [note for note in notes if note]
    return format_html(
        '<td class="credential {} {}" data-label="{}"><span>{}{}</span></td>',
        badge.tone,
        cell.urgency.value.replace("_", "-"),
        labels.credential_label(cell.type),
        text,
        format_html('<span class="sub">{}</span>', " · ".join(sub_notes)) if sub_notes else "",
    )


def _head(row: OwnerRow, by: Principal) -> Sequence[str]:
    return labels.name_of(row.owner, by), row.owner.provider.name, str(labels.status_badge(row.owner).text)


def _credential_texts(cells: Iterable[Cell]) -> Iterable[str]:
    for cell in cells:
        yield ", ".join(filter(None, (str(labels.URGENCIES[cell.urgency].text), labels.review(cell.awaits_review))))
        yield cell.expires_on.isoformat() if cell.expires_on else ""
