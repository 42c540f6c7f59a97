"""Scans of credentials: upload, download and removal."""

from uuid import UUID

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from apps.accounts.sessions import principal_of
from apps.console.fleet.credential_views import credential_page, credential_url, replaced, visible_credential
from apps.console.fleet.forms import DocumentForm, RemoveForm
from apps.console.kit.rights import require_scope
from apps.fleet import queries as fleet
from apps.fleet.services import documents
from lib.errors import DomainError, NotFound
from lib.scopes import Scope


@require_POST
@require_scope(Scope.DRIVERS_WRITE)
def add(request: HttpRequest, credential_id: UUID) -> HttpResponse:
    """Store an uploaded scan, or show the error at its field."""
    by = principal_of(request)
    record = visible_credential(credential_id, by)
    form = DocumentForm(request.POST, request.FILES, auto_id="scan_%s")
    if not form.is_valid():
        return credential_page(request, record, scan=form)
    sent = form.cleaned_data["document"]
    try:
        documents.add(credential_id=credential_id, data=sent.read(), size=sent.size, by=by, at=timezone.now())
    except NotFound:
        return replaced(request, record)
    except DomainError as refusal:
        form.refuse(refusal)
        return credential_page(request, record, scan=form)
    messages.success(request, _("The scan is saved."))
    return redirect(f"{credential_url(record)}#scans")


@require_safe
@require_scope(Scope.DRIVERS_WRITE)
def document(request: HttpRequest, document_id: UUID) -> HttpResponse:
    """Download a scan and record it in the audit trail; the headers keep browsers from rendering it as a page."""
    scan = documents.read_content(document_id=document_id, by=principal_of(request))
    answer = HttpResponse(scan.content, content_type=scan.kind)
    answer["Content-Disposition"] = f'attachment; filename="{scan.file_name}"'
    answer["X-Content-Type-Options"] = "nosniff"
    answer["Cache-Control"] = "no-store"
    answer["Content-Security-Policy"] = "sandbox; default-src 'none'"
    return answer


@require_POST
@require_scope(Scope.DRIVERS_WRITE)
def remove(request: HttpRequest, document_id: UUID) -> HttpResponse:
    """Remove a scan; a reason is required and recorded."""
    by = principal_of(request)
    record = fleet.document(document_id, by).credential
    form = RemoveForm(request.POST, auto_id=f"remove_{document_id}_%s")
    if not form.is_valid():
        return credential_page(request, record, remove=form, removed=document_id)
    try:
        documents.remove(document_id=document_id, reason=form.cleaned_data["reason"], by=by, at=timezone.now())
    except NotFound:
        messages.error(request, _("Someone else has already removed this scan."))
    else:
        messages.success(request, _("The scan is removed."))
    return redirect(f"{credential_url(record)}#scans")
