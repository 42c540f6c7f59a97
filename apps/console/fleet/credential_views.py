"""One credential of a driver or vehicle: show, file, verify and reject it."""

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
from apps.accounts.sessions import principal_of
from apps.console.fleet import labels
from apps.console.fleet.board_views import owner_url
from apps.console.fleet.forms import KINDS, DocumentForm, FileForm, RejectForm, RemoveForm
from apps.console.fleet.owner_views import owner_credentials, visible_owner
from apps.console.kit.rights import UNPROCESSABLE, require_scope
from apps.console.ride import labels as ride_labels
from apps.fleet import queries as fleet
from apps.fleet.models import Credential
from apps.fleet.rules.credentials import TYPES_OF, Subject, blocks_by_default
from apps.fleet.services import credentials, documents
from lib.access import Principal
from lib.errors import InvalidInput, NotFound
from lib.scopes import Scope


@require_http_methods(["GET", "HEAD", "POST"])
@require_scope(Scope.DRIVERS_WRITE)
def credential(request: HttpRequest, kind: str, owner_id: UUID, type: str) -> HttpResponse:
    """Show the credential of a type, filed or not; POST files a credential that replaces it."""
    if kind not in KINDS or type not in TYPES_OF[KINDS[kind]]:
        raise Http404
    if request.method != "POST":
        return _page(request, kind, owner_id, type)
    form = FileForm(request.POST, auto_id="file_%s")
    if form.is_valid():
        origin: dict[str, Any] = {"by": principal_of(request), "at": timezone.now()}
        try:
            credentials.file(subject=KINDS[kind], subject_id=owner_id, type=type, details=form.cleaned_data, **origin)
        except InvalidInput as refusal:
            form.refuse(refusal)
        else:
            messages.success(request, _("The credential is saved."))
            return redirect(f"{owner_url(kind, owner_id)}#{type}")
    return _page(request, kind, owner_id, type, file=form)


@require_POST
@require_scope(Scope.DRIVERS_WRITE)
def verify(request: HttpRequest, credential_id: UUID) -> HttpResponse:
    """Verify a credential; the person who entered it cannot verify it."""
    by = principal_of(request)
    record = visible_credential(credential_id, by)
    try:
        credentials.verify(credential_id=credential_id, by=by, at=timezone.now())
    except NotFound:
        return replaced(request, record)
    except credentials.EnteredByTheSame:
        messages.error(request, _("You entered this credential: someone else has to verify it."))
    else:
        messages.success(request, _("The credential is verified."))
    return redirect(credential_url(record))


@require_POST
@require_scope(Scope.DRIVERS_WRITE)
def reject(request: HttpRequest, credential_id: UUID) -> HttpResponse:
    """Reject a credential with a reason: it is no longer valid."""
    by = principal_of(request)
    record = visible_credential(credential_id, by)
    form = RejectForm(request.POST, auto_id="reject_%s")
    if not form.is_valid():
        return credential_page(request, record, reject=form)
    try:
        credentials.reject(credential_id=credential_id, reason=form.cleaned_data["reason"], by=by, at=timezone.now())
    except NotFound:
        return replaced(request, record)
    messages.success(request, _("The credential is rejected: it is no longer valid."))
    return redirect(credential_url(record))


def visible_credential(credential_id: UUID, by: Principal) -> Credential:
    """Return a visible credential, active or replaced; raises Http404 otherwise."""
    record = Credential.objects.visible_to(by).filter(pk=credential_id).first()
    if record is None:
        raise Http404
    return record


def replaced(request: HttpRequest, record: Credential) -> HttpResponse:
    messages.error(request, _("Another credential has replaced it in the meantime. This is the current one."))
    return redirect(credential_url(record))


def _kind(record: Credential) -> str:
    return "vehicles" if record.driver_id is None else "drivers"


def credential_url(record: Credential) -> str:
    return reverse("fleet_credential", args=[_kind(record), record.subject_id, record.type])


def credential_page(
    request: HttpRequest, record: Credential, *, removed: UUID | None = None, **returned: forms.Form
) -> HttpResponse:
    """Render the page of a credential with an invalid form; `removed` is the scan of an invalid `remove` form."""
    return _page(request, _kind(record), record.subject_id, record.type, removed=removed, **returned)


def _page(
    request: HttpRequest, kind: str, owner_id: UUID, type: str, *, removed: UUID | None = None, **returned: forms.Form
) -> HttpResponse:
    """Render the page; `returned` holds at most one form, which has errors."""
    by, now = principal_of(request), timezone.now()
    owner = visible_owner(kind, owner_id, by, now)
    on_file, cells = owner_credentials(owner, by, now)
    present = next((entry for entry in on_file if entry.type == type and entry.id), None)
    cell = cells.get(type)
    needed = present.blocking if present else blocks_by_default(owner.subject, type)
    scans = fleet.documents_of(present.id) if present and present.id else []
    people = [present.entered_by, present.verified_by] if present else []
    names = accounts.names_of([*people, *(scan.added_by for scan in scans)])
    context = {
        "owner": owner.record,
        "owner_url": owner_url(kind, owner_id),
        "is_driver": owner.subject is Subject.DRIVER,
        "name": labels.name_of(owner.record, by),
        "title": labels.credential_label(type),
        "type": type,
        "kind": kind,
        "present": present,
        "badge": cell and labels.URGENCIES[cell.urgency],
        "state": cell and labels.state(cell),
        "broken": cell.rides if cell else 0,
        "entered_by": present and present.entered_by and ride_labels.actor_name(present.entered_by, names),
        "is_own": present is not None and present.entered_by == by.actor,
        "verified_by": present and ride_labels.actor_name(present.verified_by, names),
        "file": FileForm(initial={"blocking": needed}, auto_id="file_%s"),
        "reject": RejectForm(auto_id="reject_%s"),
        "scan": DocumentForm(auto_id="scan_%s"),
        "full": len(scans) >= documents.MOST,
        "most": documents.MOST,
        "scans": [
            {
                "scan": scan,
                "kind": labels.KINDS[scan.kind],
                "by": ride_labels.actor_name(scan.added_by, names),
                "remove": returned["remove"] if scan.pk == removed else RemoveForm(auto_id=f"remove_{scan.pk}_%s"),
            }
            for scan in scans
        ],
        **returned,
        "error_form": next(iter(returned.values()), None),
    }
    return render(request, "fleet/credential.html", context, status=UNPROCESSABLE if returned else 200)
