"""Where exports are put: a list, a page of each with what came of it last, and what is done about it."""

from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from apps.accounts import queries as accounts
from apps.accounts.sessions import principal_of
from apps.console.exports import labels
from apps.console.exports.destination_forms import FORMS, DestinationForm, initial_of
from apps.console.kit.rights import UNPROCESSABLE, is_proven, require_recent_login, require_scope, to_proof
from apps.exports.models import ExportDestination
from apps.exports.services import destinations as destination_service
from lib.console_forms import put_on
from lib.errors import DomainError, NotFound, StaleVersion
from lib.scopes import Scope


@require_safe
@require_scope(Scope.DESTINATIONS_MANAGE)
def destinations(request: HttpRequest) -> HttpResponse:
    """List destinations by name; there are 50 at the most."""
    found = ExportDestination.objects.visible_to(principal_of(request)).order_by("name", "pk")
    rows = [{"destination": one, "badge": labels.destination_badge(one)} for one in found]
    return render(request, "destinations/list.html", {"rows": rows})


@require_http_methods(["GET", "HEAD", "POST"])
@require_scope(Scope.DESTINATIONS_MANAGE)
@require_recent_login
def add(request: HttpRequest, kind: str) -> HttpResponse:
    """Add a bucket or a server; its page is where it is tested."""
    if kind not in FORMS:
        raise Http404
    form = FORMS[kind](request.POST if request.method == "POST" else None)
    if request.method != "POST":
        return _form(request, form)
    if not is_proven(request):
        return _form(request, form, unproven=True)
    if form.is_valid():
        try:
            made = destination_service.add(params=form.params(), by=principal_of(request), at=timezone.now())
        except DomainError as refusal:
            _refuse(form, refusal)
        else:
            messages.success(request, _("The destination is added. Now try it."))
            return redirect("export_destination", destination_id=made.pk)
    return _form(request, form)


@require_http_methods(["GET", "HEAD", "POST"])
@require_scope(Scope.DESTINATIONS_MANAGE)
@require_recent_login
def change(request: HttpRequest, destination_id: UUID) -> HttpResponse:
    """Change what a destination is."""
    by = principal_of(request)
    found = destination_service.get(destination_id, by)
    made_by = FORMS[found.kind]
    if request.method != "POST":
        return _form(request, made_by(initial=initial_of(found, made_by)), found)
    form = made_by(request.POST)
    if not is_proven(request):
        return _form(request, form, found, unproven=True)
    if form.is_valid():
        try:
            destination_service.change(
                destination_id=destination_id,
                changes=form.changes(),
                expected_version=form.cleaned_data["version"],
                by=by,
                at=timezone.now(),
            )
        except NotFound:
            raise
        except DomainError as refusal:
            _refuse(form, refusal)
        else:
            messages.success(request, _("The destination is changed."))
            return redirect("export_destination", destination_id=destination_id)
    return _form(request, form, found)


@require_safe
@require_scope(Scope.DESTINATIONS_MANAGE)
def destination(request: HttpRequest, destination_id: UUID) -> HttpResponse:
    """Show a destination: how it does, and what it is."""
    return _page(request, destination_id)


@require_POST
@require_scope(Scope.DESTINATIONS_MANAGE)
def test(request: HttpRequest, destination_id: UUID) -> HttpResponse:
    """Put a small file there and take it away again; the page that this leads to says what came of it."""
    tried = destination_service.test(destination_id=destination_id, by=principal_of(request), at=timezone.now())
    if tried.code:
        messages.error(request, _("The test failed: %(why)s.") % {"why": tried.code.label})
    elif tried.test_file_left:
        messages.success(
            request,
            _("It works. %(file)s could be put there and not be taken away: that is as it may be.")
            % {"file": destination_service.TEST_FILE},
        )
    else:
        messages.success(request, _("It works: a file was put there and taken away again."))
    return redirect("export_destination", destination_id=destination_id)


@require_POST
@require_scope(Scope.DESTINATIONS_MANAGE)
def host_keys(request: HttpRequest, destination_id: UUID) -> HttpResponse:
    """Ask a server for its host keys, and show their fingerprints for somebody to compare."""
    try:
        keys = destination_service.host_keys(destination_id=destination_id, by=principal_of(request))
    except NotFound:
        raise
    except DomainError as refusal:
        messages.error(request, refusal.message)
        return redirect("export_destination", destination_id=destination_id)
    return _page(request, destination_id, keys=keys)


@require_POST
@require_scope(Scope.DESTINATIONS_MANAGE)
def trust_host_key(request: HttpRequest, destination_id: UUID) -> HttpResponse:
    """Agree on the host key that somebody has compared."""
    if not is_proven(request):
        return to_proof("export_destination", destination_id=destination_id)
    try:
        destination_service.change(
            destination_id=destination_id,
            changes={"host_key": request.POST.get("host_key", "")},
            expected_version=None,
            by=principal_of(request),
            at=timezone.now(),
        )
    except NotFound:
        raise
    except DomainError as refusal:
        messages.error(request, refusal.message)
    else:
        messages.success(request, _("The host key is agreed on. Files are put on a server alone that shows it."))
    return redirect("export_destination", destination_id=destination_id)


@require_POST
@require_scope(Scope.DESTINATIONS_MANAGE)
def remove(request: HttpRequest, destination_id: UUID) -> HttpResponse:
    """Take a destination away, and destroy its secret."""
    destination_service.remove(destination_id=destination_id, by=principal_of(request), at=timezone.now())
    messages.success(request, _("The destination is removed."))
    return redirect("export_destinations")


def _page(request: HttpRequest, destination_id: UUID, **more: Any) -> HttpResponse:
    found = destination_service.get(destination_id, principal_of(request))
    tone, state = labels.destination_badge(found)
    failed, sent = found.failed_at, found.sent_at
    failure = found.failure_code if failed and (sent is None or sent < failed) else ""
    context = {
        "destination": found,
        "tone": tone,
        "state": state,
        "test_label": labels.upload_error_label(found.test_code),
        "test_advice": labels.DESTINATION_ADVICE.get(found.test_code, ""),
        "failure_label": labels.upload_error_label(failure),
        "failure_advice": labels.DESTINATION_ADVICE.get(failure, ""),
        "agreed_by": accounts.names_of([found.phi_agreed_by]).get(found.phi_agreed_by, found.phi_agreed_by),
        "test_file": destination_service.TEST_FILE,
        **more,
    }
    return render(request, "destinations/destination.html", context)


def _refuse(form: DestinationForm, refusal: DomainError) -> None:
    if isinstance(refusal, StaleVersion):
        form.add_error(None, _("Somebody changed the destination meanwhile. Open it again to see what it is now."))
    else:
        put_on(form, refusal, {**form.names, "secret": form.secret_field})


def _form(
    request: HttpRequest,
    form: DestinationForm,
    destination: ExportDestination | None = None,
    *,
    unproven: bool = False,
) -> HttpResponse:
    context = {"form": form, "destination": destination, "is_bucket": form.kind == "s3", "unproven": unproven}
    failed = unproven or bool(form.errors)
    return render(request, "destinations/form.html", context, status=UNPROCESSABLE if failed else 200)
