"""Forms about tokens of API clients."""

import re
from datetime import datetime, timedelta
from typing import Any, Final
from uuid import UUID

from django import forms
from django.utils.translation import gettext_lazy as _

from apps.accounts.models import ApiClient, ApiToken
from apps.accounts.rules.roles import SCOPES_OF_TOKEN, TokenRole
from apps.accounts.services.tokens import Grant
from apps.organizations.models import Facility, TransportProvider
from lib.access import Principal
from lib.console_forms import choose

DAYS: Final = 90
# Form fields by name in the API.
FIELDS: Final = {
    "scopes": "scopes",
    "phiLevel": "phi_level",
    "allowedCidrs": "networks",
    "facilityIds": "facilities",
    "providerIds": "providers",
    "expiresAt": "days",
}
ROLES: Final = {
    TokenRole.EHR_INTEGRATOR: _("Books rides and keeps riders, for a hospital's record system"),
    TokenRole.DISPATCH_PARTNER: _("Reports how its rides go, for a transport provider's system"),
    TokenRole.DISPATCH_CONSOLE: _("Everything dispatchers do, for a dispatch system"),
    TokenRole.BILLING_READONLY: _("Reads rides, reports and exports, with what billing needs of a rider"),
    TokenRole.ANALYTICS_READONLY: _("Reads reports and exports, without riders"),
    TokenRole.WEBHOOK_ADMIN: _("Manages its own webhook endpoints and reads events"),
    TokenRole.MONITORING: _("Reads the figures at /metrics, for a monitoring system"),
    TokenRole.AUDITOR: _("Reads rides, events and the audit trail"),
    TokenRole.FULL_ACCESS: _("Everything a system may do"),
}
LEVELS: Final = (
    (ApiToken.PhiLevel.NONE, _("None: rides without any rider's identity")),
    (ApiToken.PhiLevel.LIMITED, _("Limited: names and ids, for billing")),
    (ApiToken.PhiLevel.FULL, _("Full: everything of a rider")),
)
OVERLAPS: Final = (
    ("0", _("None: the older one ends now")),
    ("3600", _("One hour")),
    ("86400", _("One day")),
    ("604800", _("Seven days")),
)


class NewToken(forms.Form):
    """A new token: its client, role and restrictions."""

    client = forms.ChoiceField(label=_("API client"), required=False)
    client_name = forms.CharField(
        label=_("Name of a new client"),
        required=False,
        max_length=100,
        help_text=_("For a system that has no token yet, such as “Epic bridge”."),
    )
    name = forms.CharField(label=_("Label"), required=False, max_length=100, help_text=_("Such as “production”."))
    role = forms.ChoiceField(
        label=_("Role"),
        widget=forms.RadioSelect,
        choices=[
            (role.value, f"{role.label.capitalize() if role.label.islower() else role.label}") for role in TokenRole
        ],
    )
    phi_level = forms.ChoiceField(
        label=_("Rider data"), widget=forms.RadioSelect, choices=LEVELS, initial=ApiToken.PhiLevel.NONE
    )
    scopes = forms.MultipleChoiceField(
        label=_("Only these scopes"),
        required=False,
        widget=forms.CheckboxSelectMultiple,
        choices=[(scope, scope) for scope in sorted(SCOPES_OF_TOKEN[TokenRole.FULL_ACCESS])],
        help_text=_("Leave all unchecked for all scopes of the role."),
    )
    facilities = forms.MultipleChoiceField(
        label=_("Only these facilities"),
        required=False,
        widget=forms.CheckboxSelectMultiple,
        help_text=_("Leave all unchecked for every facility."),
    )
    providers = forms.MultipleChoiceField(
        label=_("Only these transport providers"),
        required=False,
        widget=forms.CheckboxSelectMultiple,
        help_text=_("Leave all unchecked for every provider."),
    )
    networks = forms.CharField(
        label=_("Only from these networks"),
        required=False,
        max_length=2000,
        widget=forms.Textarea(attrs={"rows": 3, "class": "mono", "spellcheck": "false"}),
        help_text=_("One per line, such as 192.0.2.0/24. Leave blank to allow any address."),
    )
    days = forms.IntegerField(
        label=_("Days until it expires"), min_value=1, max_value=365, initial=DAYS, help_text=_("At most 365.")
    )

    def __init__(self, *args: Any, by: Principal, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        clients = ApiClient.objects.filter(active=True).order_by("name").values_list("pk", "name")
        choose(self, "client", clients, first=_("New client (enter its name)"))
        choose(self, "facilities", Facility.objects.visible_to(by).order_by("name", "pk").values_list("pk", "name"))
        providers = TransportProvider.objects.visible_to(by).order_by("name", "pk").values_list("pk", "name")
        choose(self, "providers", providers)

    def clean_networks(self) -> tuple[str, ...]:
        return tuple(part for part in re.split(r"[\s,]+", self.cleaned_data["networks"]) if part)

    def clean(self) -> dict[str, Any]:
        """Require either an existing client or the name of a new one, not both."""
        values = self.cleaned_data
        if bool(values.get("client")) == bool(values.get("client_name", "").strip()):
            self.add_error("client", _("Choose a client, or name a new one."))
        return values

    def grant(self, at: datetime) -> Grant:
        values = self.cleaned_data
        return Grant(
            role=TokenRole(values["role"]),
            name=values["name"],
            scopes=frozenset(values["scopes"]) or None,
            facility_ids=frozenset(map(UUID, values["facilities"])) or None,
            provider_ids=frozenset(map(UUID, values["providers"])) or None,
            allowed_cidrs=values["networks"],
            phi_level=values["phi_level"],
            expires_at=at + timedelta(days=values["days"]),
        )


class Rotation(forms.Form):
    overlap = forms.ChoiceField(label=_("The older one still works for"), choices=OVERLAPS, initial="86400")

    def span(self) -> timedelta:
        return timedelta(seconds=int(self.cleaned_data["overlap"]))


class Revocation(forms.Form):
    reason = forms.CharField(label=_("Reason"), max_length=200)
