"""Admin of people, API clients and their tokens; and of events, with the names of their organizations."""

from typing import Any

from allauth.account.decorators import reauthentication_required
from django.contrib import admin
from django.db.models import OuterRef, Subquery
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.utils import timezone
from django.utils.decorators import method_decorator
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from apps.accounts.models import ApiClient, ApiToken, User
from apps.accounts.services import people, tokens
from apps.events.models import Event
from apps.organizations.models import Facility, TransportProvider
from lib.access import Principal
from lib.admin import Rows, ScopedAdmin
from lib.admin_buttons import Button, ButtonedAdmin


def _is_active(user: User) -> bool:
    return user.is_active


@admin.register(User)
# only a person who has just reauthenticated may grant roles
@method_decorator(reauthentication_required, name="changeform_view")
class UserAdmin(ButtonedAdmin[User]):
    subject_type = "user"
    list_display = ("name", "email", "role", "is_active", "last_login")
    list_filter = ("role", "is_active")
    list_select_related = ()
    ordering = ("name", "id")
    search_fields = ("name", "email")
    search_placeholder = _("Name or e-mail")
    fieldsets = (
        (None, {"fields": ("name", "email", "role", "is_active")}),
        (
            _("Access"),
            {
                "fields": ("facilities", "providers"),
                "description": _(
                    "Discharge planners see their facilities, fleet admins their providers. Other roles see everything."
                ),
            },
        ),
        (_("Record"), {"fields": ("last_login", "created_at")}),
    )
    readonly_fields = ("last_login", "created_at")
    buttons = (
        Button(
            name="sign_in_link",
            label=_("Create a sign-in link"),
            act="make_sign_in_link",
            warning=_("The link sets this person's password. It works once, within 24 hours."),
            offered=_is_active,
        ),
        Button(
            name="reset_second_factors",
            label=_("Reset two-factor authentication"),
            act="reset_second_factors",
            warning=_("Removes the authenticator app, passkeys and recovery codes, and ends every session."),
            offered=_is_active,
        ),
        Button(
            name="end_sessions",
            label=_("End sessions"),
            act="end_sessions",
            warning=_("Signs this person out everywhere."),
            offered=_is_active,
        ),
    )

    def scope(self, rows: Rows, principal: Principal) -> Rows:
        """Return all rows: people have no data scope of their own; only the rights table decides who may see them."""
        return rows

    def get_readonly_fields(self, request: HttpRequest, obj: User | None = None) -> Any:
        """Return the read-only fields.  No person can change their own role, status or data scope."""
        own = ("role", "is_active", "facilities", "providers") if obj == request.user else ()
        return (*super().get_readonly_fields(request, obj), *own)

    def save_model(self, request: HttpRequest, obj: User, form: Any, change: bool) -> None:
        obj.email = obj.email.lower()
        if not change:
            obj.set_unusable_password()
        super().save_model(request, obj, form, change)
        if change:
            people.apply_person_change(user_id=obj.pk, changed=form.changed_data, by=self.site.principal_of(request))

    def make_sign_in_link(self, request: HttpRequest, user: User) -> HttpResponse:
        link = people.one_time_link(user_id=user.pk, by=self.site.principal_of(request))
        context = {**self.site.each_context(request), "title": _("Sign-in link"), "link": link, "person": user}
        return TemplateResponse(request, "admin/accounts/sign_in_link.html", context)

    def reset_second_factors(self, request: HttpRequest, user: User) -> str:
        people.reset_second_factors(user_id=user.pk, by=self.site.principal_of(request))
        return gettext("Two-factor authentication is reset, and all sessions are ended.")

    def end_sessions(self, request: HttpRequest, user: User) -> str:
        ended = people.end_sessions(user_id=user.pk, by=self.site.principal_of(request))
        return gettext("Sessions ended: %(count)s.") % {"count": ended}


@admin.register(ApiClient)
class ApiClientAdmin(ScopedAdmin[ApiClient]):
    subject_type = "api_client"
    list_display = ("name", "contact_email", "max_token_age_days", "active")
    list_filter = ("active",)
    list_select_related = ()
    ordering = ("name", "id")
    search_fields = ("name",)
    search_placeholder = _("Name")

    def save_model(self, request: HttpRequest, obj: ApiClient, form: Any, change: bool) -> None:
        super().save_model(request, obj, form, change)
        tokens.apply_client_change(client_id=obj.pk)

    def scope(self, rows: Rows, principal: Principal) -> Rows:
        """Return all rows: API clients are not limited by data scope."""
        return rows


def _is_live(token: ApiToken) -> bool:
    return token.revoked_at is None


@admin.register(ApiToken)
class ApiTokenAdmin(ButtonedAdmin[ApiToken]):
    """API tokens, which can only be revoked here.  The API issues and rotates them, and returns their text once."""

    read_only = True
    subject_type = "token"
    list_display = ("key_id", "client", "name", "role", "phi_level", "expires_at", "revoked_at", "last_used_at")
    list_filter = ("role", "phi_level", "client")
    list_select_related = ("client",)
    ordering = ("-created_at", "-id")
    search_fields = ("key_id__exact", "name")
    search_placeholder = _("Key id or name")
    fieldsets = (
        (None, {"fields": (("key_id", "client", "name"), ("role", "phi_level"))}),
        (
            _("Bounds"),
            {
                "fields": ("scopes", ("facility_ids", "provider_ids"), "allowed_cidrs"),
                "description": _("Blank fields set no limit: all scopes of the role, all places, any address."),
            },
        ),
        (
            _("Life"),
            {
                "fields": (
                    ("not_before", "expires_at", "overlap_until"),
                    ("revoked_at", "revoked_reason"),
                    ("last_used_at", "last_used_ip"),
                    ("created_by", "created_at"),
                    "api_version",
                )
            },
        ),
    )
    buttons = (
        Button(
            name="revoke",
            label=_("Revoke"),
            act="revoke",
            warning=_("Systems can no longer use this token. This cannot be undone."),
            asks_reason=True,
            offered=_is_live,
        ),
    )

    def revoke(self, request: HttpRequest, token: ApiToken) -> str:
        reason = request.POST.get("reason", "").strip()[:200]
        by = self.site.principal_of(request)
        tokens.revoke(token_id=token.pk, reason=reason or gettext("No reason given"), by=by, at=timezone.now())
        return gettext("The token is revoked.")


@admin.register(Event)
class EventAdmin(ScopedAdmin[Event]):
    """Admin of events.  Registered here because events is below organizations and cannot access their names."""

    read_only = True
    subject_type = "event"
    list_display = ("recorded_at", "type", "subject_type", "subject_id", "sequence", "actor", "facility")
    list_display_links = ("recorded_at", "type")
    list_filter = ("subject_type",)
    list_select_related = ()
    ordering = ("-id",)
    search_fields = ("subject_id__exact", "type")
    search_placeholder = _("Id of the record, or type")
    fields = (
        "type",
        ("subject_type", "subject_id", "sequence"),
        ("facility", "provider"),
        ("occurred_at", "recorded_at"),
        ("actor", "request_id"),
        "data",
    )

    def get_queryset(self, request: HttpRequest) -> Rows:
        facility = Facility.objects.filter(pk=OuterRef("facility_id")).values("name")
        provider = TransportProvider.objects.filter(pk=OuterRef("provider_id")).values("name")
        events: Rows = super().get_queryset(request)
        named: Rows = events.annotate(facility=Subquery(facility), provider=Subquery(provider))
        return named

    @admin.display(description=_("Facility"))
    def facility(self, event: Any) -> str:
        return event.facility or "-"

    @admin.display(description=_("Transport provider"))
    def provider(self, event: Any) -> str:
        return event.provider or "-"
