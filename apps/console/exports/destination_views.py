"""Pages of export destinations: a list, a page with the results of the last uploads, and actions."""

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
from lib.console_forms import add_errors
from lib.errors import DomainError, InvalidInput, NotFound, StaleVersion
from lib.scopes import Scope


@require_safe
@require_scope(Scope.DESTINATIONS_MANAGE)
def destinations(request: HttpRequest) -> HttpResponse:
    """List destinations by name; there are at most 50."""
    all_destinations = ExportDestination.objects.visible_to(principal_of(request)).order_by("name", "pk")
    rows = [{"destination": item, "badge": labels.destination_badge(item)} for item in all_destinations]
    return render(request, "destinations/list.html", {"rows": rows})


@require_http_methods(["GET", "HEAD", "POST"])
@require_scope(Scope.DESTINATIONS_MANAGE)
@require_recent_login
def add(request: HttpRequest, kind: str) -> HttpResponse:
    """Add a bucket or a server."""
    if kind not in FORMS:
        raise Http404
    form = FORMS[kind](request.POST if request.method == "POST" else None)
    if request.method != "POST":
        return _form(request, form)
    if not is_proven(request):
        return _form(request, form, needs_sign_in=True)
    if form.is_valid():
        try:
            new = destination_service.add(params=form.params(), by=principal_of(request), at=timezone.now())
        except DomainError as error:
            _add_error(form, error)
        else:
            messages.success(request, _("The destination is added. Now test it."))
            return redirect("export_destination", destination_id=new.pk)
    return _form(request, form)


@require_http_methods(["GET", "HEAD", "POST"])
@require_scope(Scope.DESTINATIONS_MANAGE)
@require_recent_login
def change(request: HttpRequest, destination_id: UUID) -> HttpResponse:
    """Change a destination."""
    by = principal_of(request)
    current = destination_service.get(destination_id, by)
    form_class = FORMS[current.kind]
    if request.method != "POST":
        return _form(request, form_class(initial=initial_of(current, form_class)), current)
    form = form_class(request.POST)
    if not is_proven(request):
        return _form(request, form, current, needs_sign_in=True)
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
        except DomainError as error:
            _add_error(form, error)
        else:
            messages.success(request, _("The destination is changed."))
            return redirect("export_destination", destination_id=destination_id)
    return _form(request, form, current)


@require_safe
@require_scope(Scope.DESTINATIONS_MANAGE)
def destination(request: HttpRequest, destination_id: UUID) -> HttpResponse:
    """Show a destination, its settings and its last uploads."""
    return _page(request, destination_id)


@require_POST
@require_scope(Scope.DESTINATIONS_MANAGE)
def test(request: HttpRequest, destination_id: UUID) -> HttpResponse:
    """Upload a small file and delete it again; the page of the destination shows the result."""
    result = destination_service.test(destination_id=destination_id, by=principal_of(request), at=timezone.now())
    if result.code:
        messages.error(request, _("The test failed: %(why)s.") % {"why": result.code.label})
    elif result.test_file_left:
        messages.success(
            request,
            _("The test succeeded. %(file)s was uploaded but could not be deleted, which exports do not need.")
            % {"file": destination_service.TEST_FILE},
        )
    else:
        messages.success(request, _("The test succeeded: a file was uploaded and deleted again."))
    return redirect("export_destination", destination_id=destination_id)


@require_POST
@require_scope(Scope.DESTINATIONS_MANAGE)
def host_keys(request: HttpRequest, destination_id: UUID) -> HttpResponse:
    """Get the host keys of a server, and show their fingerprints for comparison."""
    try:
        keys = destination_service.host_keys(destination_id=destination_id, by=principal_of(request))
    except NotFound:
        raise
    except DomainError as error:
        messages.error(request, error.message)
        return redirect("export_destination", destination_id=destination_id)
    return _page(request, destination_id, keys=keys)


@require_POST
@require_scope(Scope.DESTINATIONS_MANAGE)
def trust_host_key(request: HttpRequest, destination_id: UUID) -> HttpResponse:
    """Trust the host key that the user has compared."""
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
    except InvalidInput as error:
        for detail in error.details:
            messages.error(request, str(detail.text.with_labels({"hostKey": _("Host key")})))
    except DomainError as error:
        messages.error(request, error.message)
    else:
        messages.success(request, _("The host key is trusted. Files are uploaded only to a server with this key."))
    return redirect("export_destination", destination_id=destination_id)


@require_POST
@require_scope(Scope.DESTINATIONS_MANAGE)
def remove(request: HttpRequest, destination_id: UUID) -> HttpResponse:
    """Remove a destination and its secret."""
    destination_service.remove(destination_id=destination_id, by=principal_of(request), at=timezone.now())
    messages.success(request, _("The destination is removed."))
    return redirect("export_destinations")


def _page(request: HttpRequest, destination_id: UUID, **extra: Any) -> HttpResponse:
    item = destination_service.get(destination_id, principal_of(request))
    tone, state = labels.destination_badge(item)
    failed, sent = item.failed_at, item.sent_at
    failure = item.failure_code if failed and (sent is None or sent < failed) else ""
    context = {
        "destination": item,
        "tone": tone,
        "state": state,
        "test_label": labels.upload_error_label(item.test_code),
        "test_advice": labels.DESTINATION_ADVICE.get(item.test_code, ""),
        "failure_label": labels.upload_error_label(failure),
        "failure_advice": labels.DESTINATION_ADVICE.get(failure, ""),
        "agreed_by": accounts.names_of([item.phi_agreed_by]).get(item.phi_agreed_by, item.phi_agreed_by),
        "test_file": destination_service.TEST_FILE,
        **extra,
    }
    return render(request, "destinations/destination.html", context)


def _add_error(form: DestinationForm, error: DomainError) -> None:
    if isinstance(error, StaleVersion):
        form.add_error(None, _("Someone else changed the destination. Open it again to see the changes."))
    else:
        add_errors(form, error, {**form.names, "secret": form.secret_field})


def _form(
    request: HttpRequest,
    form: DestinationForm,
    destination: ExportDestination | None = None,
    *,
    needs_sign_in: bool = False,
) -> HttpResponse:
    context = {"form": form, "destination": destination, "is_bucket": form.kind == "s3", "unproven": needs_sign_in}
    has_failed = needs_sign_in or bool(form.errors)
    return render(request, "destinations/form.html", context, status=UNPROCESSABLE if has_failed else 200)
