"""Error pages of denied requests, the remaining time of the session, and additions to allauth's pages."""

from allauth.mfa.adapter import get_adapter
from allauth.mfa.models import Authenticator
from allauth.mfa.webauthn.views import remove_webauthn
from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from apps.accounts.models import User
from apps.accounts.rules.admin_rights import roles_with
from apps.accounts.rules.roles import SCOPES_OF_USER, UserRole
from apps.accounts.sessions import principal_of, seconds_left
from apps.audit.services import audit
from apps.console.kit.rights import RightMissing

# The permission that an admin page needs, by the last part of its URL name.
RIGHT_OF_PAGE = {"changelist": "view", "change": "view", "history": "view", "add": "add"}


def not_offered(request: HttpRequest, key: str = "") -> HttpResponse:
    """Return 404 for a page of a library that this service does not use."""
    raise Http404


def forbidden(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    """Show the roles that may open the page, and administrators who can assign one; recorded in the audit trail."""
    signed_in = isinstance(request.user, User)
    if signed_in:
        route = request.resolver_match.route if request.resolver_match else ""
        audit.record_denial(by=principal_of(request), reason="page", details={"method": request.method, "route": route})
    context = {
        "roles": [role.label for role in _roles_for(request, exception)] if signed_in else [],
        "admins": _admins() if signed_in else [],
    }
    return render(request, "403.html", context, status=403)


def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:
    """Respond to a form whose CSRF token is missing or outdated; `reason` is for developers and not shown."""
    return render(request, "403_csrf.html", status=403)


@require_http_methods(["GET", "POST"])
def session_left(request: HttpRequest) -> HttpResponse:
    """Return the seconds until the session expires; a foreground request extends it, like any other request."""
    return JsonResponse({"secondsLeft": int(seconds_left(request))})


def remove_passkey(request: HttpRequest, pk: int) -> HttpResponse:
    """Remove a passkey unless it is the last required second factor; allauth checks this only for TOTP."""
    passkey = get_object_or_404(Authenticator, pk=pk, user=request.user.pk, type=Authenticator.Type.WEBAUTHN)
    if request.method == "POST" and not get_adapter().can_delete_authenticator(passkey):
        messages.error(request, _("This is your only two-factor method. Add another one before you remove it."))
        return redirect("mfa_list_webauthn")
    answer: HttpResponse = remove_webauthn(request, pk=pk)
    return answer


def _roles_for(request: HttpRequest, refusal: Exception | None) -> list[UserRole]:
    if isinstance(refusal, RightMissing):
        return [role for role in UserRole if SCOPES_OF_USER[role] & refusal.scopes]
    match = request.resolver_match
    if match is None or match.app_name != "admin" or not match.url_name:
        return []
    app, _, rest = match.url_name.partition("_")
    model, _, page = rest.partition("_")
    return roles_with(f"{app}.{RIGHT_OF_PAGE.get(page, 'change')}_{model}")


def _admins() -> list[str]:
    people = User.objects.filter(role=UserRole.ADMIN, is_active=True).order_by("name")
    return list(people.values_list("name", flat=True)[:3])
