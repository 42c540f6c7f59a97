"""The admin site: the principal is that of the signed-in session, and audit rows go to the audit app."""

from collections.abc import Iterable
from typing import Any
from uuid import UUID

from allauth.account.decorators import secure_admin_login
from django.contrib.admin import ModelAdmin
from django.contrib.auth.decorators import login_not_required
from django.db.models import Model
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils.decorators import method_decorator
from django.utils.translation import gettext_lazy as _

from apps.accounts.sessions import principal_of
from apps.audit.views import record_read
from lib.access import Principal
from lib.admin import ScopedAdmin, ScopedSite


class CarelaneAdminSite(ScopedSite):
    """Django's admin behind the project's sign-in; signing out and changing a password redirect to it as well."""

    site_title = _("Carelane")
    site_header = _("Carelane")
    index_title = _("Records")
    site_url = "/"
    enable_nav_sidebar = False

    def register(
        self,
        model_or_iterable: type[Model] | Iterable[type[Model]],
        admin_class: type[ModelAdmin[Any]] | None = None,
        **options: Any,
    ) -> None:
        """Register only admin classes that apply the data scope.

        Skip those of libraries (groups, sessions and so on).
        """
        if admin_class is not None and issubclass(admin_class, ScopedAdmin):
            super().register(model_or_iterable, admin_class, **options)

    def principal_of(self, request: HttpRequest) -> Principal:
        return principal_of(request)

    def record(
        self,
        request: HttpRequest,
        *,
        action: str,
        subject_type: str = "",
        subject_id: UUID | None = None,
        rider_ids: Iterable[UUID] = (),
        details: dict[str, Any] | None = None,
    ) -> None:
        rider_ids = list(rider_ids)
        record_read(
            by=principal_of(request),
            action=action,
            subject_type=subject_type,
            subject_id=subject_id,
            rider_ids=rider_ids,
            phi=bool(rider_ids),
            details=details,
        )

    def logout(  # type: ignore[override]  # the stubs declare a rendered page
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        return HttpResponseRedirect(reverse("account_logout"))

    def password_change(  # type: ignore[override]  # narrower than the base class
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        return HttpResponseRedirect(reverse("account_change_password"))

    @method_decorator([login_not_required, secure_admin_login])
    def login(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        """Redirect to the project's sign-in: Django's own would accept a password without a second factor."""
        return super().login(request, extra_context)
