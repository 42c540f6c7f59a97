"""Tokens of API clients: list, issue, rotate, revoke.  Only the response that issues a token contains its text."""

from datetime import datetime, timedelta
from typing import Any, Final
from uuid import UUID

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from apps.accounts import queries
from apps.accounts.models import ApiClient, ApiToken
from apps.accounts.services import tokens as services
from apps.accounts.services.tokens import Issued
from apps.accounts.sessions import principal_of
from apps.console.kit.rights import UNPROCESSABLE, is_proven, require_recent_login, require_scope, to_proof
from apps.console.tokens.forms import FIELDS, ROLES, NewToken, Revocation, Rotation
from apps.organizations.models import Facility, TransportProvider
from lib.console_forms import add_errors
from lib.errors import DomainError
from lib.ids import uuid_or_none
from lib.pagination import newest_first
from lib.scopes import Scope

SOON: Final = timedelta(days=14)
STATUS_FILTERS: Final = ("live", "ended", "all")


@require_safe
@require_scope(Scope.TOKENS_MANAGE)
def tokens(request: HttpRequest) -> HttpResponse:
    """List tokens, newest first.  Two queries."""
    by, now = principal_of(request), timezone.now()
    status_filter = request.GET.get("shown", "")
    status_filter = status_filter if status_filter in STATUS_FILTERS else "live"
    client_id = uuid_or_none(request.GET.get("client"))
    page = newest_first(
        queries.tokens(by=by, state=status_filter, client_id=client_id, at=now), request.GET.get("before", "")
    )
    context = {
        "rows": [(token, state_of(token, now)) for token in page.rows],
        "older": page.next,
        "status_filter": status_filter,
        "client": str(client_id) if client_id else "",
        "clients": ApiClient.objects.order_by("name"),
    }
    return render(request, "accounts/tokens.html", context)


@require_http_methods(["GET", "HEAD", "POST"])
@require_scope(Scope.TOKENS_MANAGE)
@require_recent_login
def add(request: HttpRequest) -> HttpResponse:
    """Issue a token; the response to the form shows its text."""
    by, now = principal_of(request), timezone.now()
    form = NewToken(request.POST or None, by=by)
    context = {"form": form, "roles": ROLES}
    if request.method != "POST":
        return render(request, "accounts/token_form.html", context)
    if not is_proven(request):
        context["unproven"] = True
    elif form.is_valid():
        values = form.cleaned_data
        try:
            issued = services.issue(
                client_id=uuid_or_none(values["client"]),
                client_name=values["client_name"].strip(),
                grant=form.grant(now),
                by=by,
                at=now,
            )
        except DomainError as refusal:
            add_errors(form, refusal, FIELDS)
        else:
            return _issued_page(request, issued)
    return render(request, "accounts/token_form.html", context, status=UNPROCESSABLE)


@require_safe
@require_scope(Scope.TOKENS_MANAGE)
def token(request: HttpRequest, token_id: UUID) -> HttpResponse:
    """Show a token without its text."""
    return _page(request, token_id)


@require_POST
@require_scope(Scope.TOKENS_MANAGE)
def rotate(request: HttpRequest, token_id: UUID) -> HttpResponse:
    """Issue the successor of a token; the response shows its text."""
    if not is_proven(request):
        return to_proof("api_token", token_id=token_id)
    form = Rotation(request.POST)
    if not form.is_valid():
        return _page(request, token_id, rotation=form)
    try:
        issued = services.rotate(token_id=token_id, overlap=form.span(), by=principal_of(request), at=timezone.now())
    except services.TokenNotLive as refusal:
        messages.error(request, refusal.message)
        return redirect("api_token", token_id=token_id)
    return _issued_page(request, issued)


@require_POST
@require_scope(Scope.TOKENS_MANAGE)
def revoke(request: HttpRequest, token_id: UUID) -> HttpResponse:
    """Revoke a token permanently."""
    form = Revocation(request.POST)
    if not form.is_valid():
        return _page(request, token_id, revocation=form)
    services.revoke(token_id=token_id, reason=form.cleaned_data["reason"], by=principal_of(request), at=timezone.now())
    messages.success(request, _("The token is revoked."))
    return redirect("api_token", token_id=token_id)


def state_of(token: ApiToken, at: datetime) -> tuple[str, str]:
    """Return tone and label of a token's status."""
    if token.revoked_at is not None:
        return "bad", _("Revoked")
    if token.expires_at <= at:
        return "quiet", _("Expired")
    if token.overlap_until is not None:
        return ("quiet", _("Replaced")) if token.overlap_until <= at else ("warn", _("Being replaced"))
    if not token.client.active:
        return "quiet", _("Client is off")
    if token.not_before is not None and token.not_before > at:
        return "info", _("Not yet valid")
    return ("warn", _("Expires soon")) if token.expires_at <= at + SOON else ("ok", _("Active"))


def _page(request: HttpRequest, token_id: UUID, **forms: Any) -> HttpResponse:
    by, now = principal_of(request), timezone.now()
    rows = ApiToken.objects.visible_to(by).select_related("client", "replaces", "replaced_by")
    token = get_object_or_404(rows, pk=token_id)
    context = {
        "token": token,
        "state": state_of(token, now),
        "live": token.revoked_at is None and now < token.ends_at,
        "rotatable": token.revoked_at is None and now < token.ends_at and token.overlap_until is None,
        "facilities": Facility.objects.filter(pk__in=token.facility_ids or ()).order_by("name"),
        "providers": TransportProvider.objects.filter(pk__in=token.provider_ids or ()).order_by("name"),
        "creator": queries.names_of([token.created_by]).get(token.created_by, token.created_by),
        "rotation": Rotation(),
        "revocation": Revocation(),
        **forms,
    }
    return render(request, "accounts/token.html", context, status=UNPROCESSABLE if forms else 200)


def _issued_page(request: HttpRequest, issued: Issued) -> HttpResponse:
    return render(request, "accounts/token_issued.html", {"token": issued.token, "text": issued.text})
