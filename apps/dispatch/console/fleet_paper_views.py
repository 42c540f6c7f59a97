"""One paper of a driver or vehicle: what is on file, and filing, verifying and rejecting it."""

from typing import Any
from uuid import UUID

from django import forms
from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST

from apps.accounts import queries as accounts
from apps.accounts.console.rights import UNPROCESSABLE, needs
from apps.accounts.sessions import principal_of
from apps.dispatch.console import fleet_words as words
from apps.dispatch.console.fleet_board_views import page_of
from apps.dispatch.console.fleet_forms import KINDS, FileForm, RejectForm
from apps.dispatch.console.fleet_owner_views import found_owner, papers
from apps.fleet.credentials import TYPES_OF, Subject, blocks_by_default
from apps.fleet.models import Credential
from apps.fleet.services import credentials
from apps.rides.console import words as ride_words
from lib.access import Principal
from lib.errors import InvalidInput, NotFound
from lib.scopes import Scope


@require_http_methods(["GET", "HEAD", "POST"])
@needs(Scope.DRIVERS_WRITE)
def paper(request: HttpRequest, kind: str, owner_id: UUID, type: str) -> HttpResponse:
    """Show a paper of a type, filed or not, and file one that takes its place."""
    if kind not in KINDS or type not in TYPES_OF[KINDS[kind]]:
        raise Http404
    if request.method != "POST":
        return _page(request, kind, owner_id, type)
    form = FileForm(request.POST, auto_id="file_%s")
    if form.is_valid():
        told: dict[str, Any] = {"by": principal_of(request), "at": timezone.now()}
        try:
            credentials.file(subject=KINDS[kind], subject_id=owner_id, type=type, given=form.cleaned_data, **told)
        except InvalidInput as refusal:
            form.refuse(refusal)
        else:
            messages.success(request, _("The paper is filed."))
            return redirect(f"{page_of(kind, owner_id)}#{type}")
    return _page(request, kind, owner_id, type, file=form)


@require_POST
@needs(Scope.DRIVERS_WRITE)
def verify(request: HttpRequest, credential_id: UUID) -> HttpResponse:
    """Note that the visitor has seen the paper and it is right."""
    by = principal_of(request)
    found = _found(credential_id, by)
    try:
        credentials.verify(credential_id=credential_id, by=by, at=timezone.now())
    except NotFound:
        return _replaced(request, found)
    messages.success(request, _("The paper is verified."))
    return redirect(_address(found))


@require_POST
@needs(Scope.DRIVERS_WRITE)
def reject(request: HttpRequest, credential_id: UUID) -> HttpResponse:
    """Note that the paper is not accepted, and why: from now on it does not hold."""
    by = principal_of(request)
    found = _found(credential_id, by)
    form = RejectForm(request.POST, auto_id="reject_%s")
    if not form.is_valid():
        kind = _kind(found)
        return _page(request, kind, found.subject_id, found.type, reject=form)
    try:
        credentials.reject(credential_id=credential_id, reason=form.cleaned_data["reason"], by=by, at=timezone.now())
    except NotFound:
        return _replaced(request, found)
    messages.success(request, _("The paper is rejected: it does not hold any more."))
    return redirect(_address(found))


def _found(credential_id: UUID, by: Principal) -> Credential:
    """Find a paper in reach, in force or replaced, or answer 404."""
    found = Credential.objects.visible_to(by).filter(pk=credential_id).first()
    if found is None:
        raise Http404
    return found


def _replaced(request: HttpRequest, found: Credential) -> HttpResponse:
    messages.error(request, _("Another paper has taken its place meanwhile. This is the one in force."))
    return redirect(_address(found))


def _kind(found: Credential) -> str:
    return "vehicles" if found.driver_id is None else "drivers"


def _address(found: Credential) -> str:
    return reverse("fleet_paper", args=[_kind(found), found.subject_id, found.type])


def _page(request: HttpRequest, kind: str, owner_id: UUID, type: str, **returned: forms.Form) -> HttpResponse:
    """Show the page; `returned` is a form with its errors."""
    by, now = principal_of(request), timezone.now()
    owner = found_owner(kind, owner_id, by, now)
    shown, cells = papers(owner, by, now)
    present = next((one for one in shown if one.type == type and one.id), None)
    cell = cells.get(type)
    needed = present.blocking if present else blocks_by_default(owner.subject, type)
    context = {
        "owner": owner.record,
        "owner_url": page_of(kind, owner_id),
        "is_driver": owner.subject is Subject.DRIVER,
        "name": words.name_of(owner.record, by),
        "title": words.paper(type),
        "type": type,
        "kind": kind,
        "present": present,
        "badge": cell and words.URGENCIES[cell.urgency],
        "state": cell and words.state(cell),
        "broken": cell.rides if cell else 0,
        "verified_by": present and ride_words.who(present.verified_by, accounts.names_of([present.verified_by])),
        "file": FileForm(initial={"blocking": needed}, auto_id="file_%s"),
        "reject": RejectForm(auto_id="reject_%s"),
        **returned,
        "wrong": next(iter(returned.values()), None),
    }
    return render(request, "fleet/paper.html", context, status=UNPROCESSABLE if returned else 200)
