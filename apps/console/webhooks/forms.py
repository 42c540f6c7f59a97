"""Forms of webhook pages: endpoint, secret rotation, recovery and list filters."""

from collections.abc import Iterable, Mapping
from datetime import date, datetime, time, timedelta
from typing import Any, Final
from uuid import UUID

from django import forms
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from apps.accounts.models import ApiClient
from apps.console.webhooks import picker
from apps.console.webhooks.labels import RECOVERY_STATUSES
from apps.organizations.models import Facility, TransportProvider
from apps.webhooks.models import Delivery, Endpoint
from apps.webhooks.models.endpoint import PayloadLevel
from apps.webhooks.queries import deliveries, endpoints
from apps.webhooks.rules.event_types import EVERYTHING
from apps.webhooks.services.endpoint_validation import EndpointParams
from apps.webhooks.services.recovery import DEFAULT, RECOVERABLE, Period
from lib.access import Principal
from lib.console_forms import ListFilter, choose, day_field

# In place of the value of a header, which is not shown again; a line with it leaves the value unchanged.
MASKED_VALUE: Final = "••••••••"
# Fields of the form by their names in the API.
FIELDS: Final = {
    "name": "name",
    "url": "url",
    "eventTypes": "event_types",
    "facilityIds": "facilities",
    "providerIds": "providers",
    "payloadLevel": "payload_level",
    "phiAgreement": "phi_agreement",
    "headers": "headers",
    "secret": "secret",
}
LEVELS: Final = (
    (PayloadLevel.ID_ONLY, _("Ids only")),
    (PayloadLevel.SUMMARY, _("Summary")),
    (PayloadLevel.FULL_RESOURCE, _("The whole ride")),
)
ABOUT_LEVELS: Final = {
    PayloadLevel.ID_ONLY: _(
        "The event type and the ride id. The receiver gets everything else from the API. No rider data is sent."
    ),
    PayloadLevel.SUMMARY: _("Also statuses, times and ids of facility and provider. No names, addresses or notes."),
    PayloadLevel.FULL_RESOURCE: _("Complete ride data, including the rider's name and addresses. Requires https."),
}
ORDERINGS: Final = (
    (Endpoint.Ordering.NONE, _("As fast as possible: a receiver drops what is older than what it has")),
    (Endpoint.Ordering.SUBJECT, _("Events of a ride in order: a failed event holds back later ones")),
)
OVERLAPS: Final = (
    ("0", _("Not at all: receivers have the new one already")),
    ("3600", _("One hour")),
    ("86400", _("One day")),
    ("604800", _("Seven days")),
)
_SECRET_HELP: Final = _("whsec_ and the base64 of 24 to 64 bytes. Leave it empty, and one is made for you.")


def _secret_field() -> forms.CharField:
    # Never written back into a page, not even beside an error.
    widget = forms.PasswordInput(attrs={"autocomplete": "off", "class": "mono", "spellcheck": "false"})
    return forms.CharField(
        label=_("Your own secret"), required=False, max_length=100, widget=widget, help_text=_SECRET_HELP
    )


class EndpointForm(forms.Form):
    """The settings of an endpoint.  `headers` are its current ones: values of masked lines stay unchanged."""

    name = forms.CharField(label=_("Name"), max_length=100, help_text=_("A name that your colleagues recognize."))
    url = forms.CharField(
        label=_("Address"),
        max_length=2000,
        widget=forms.TextInput(attrs={"inputmode": "url", "spellcheck": "false", "class": "mono"}),
        help_text=_(
            "An https URL whose host name resolves to a public address. Your operator can also allow private networks."
        ),
    )
    description = forms.CharField(label=_("Description"), required=False, max_length=500)
    event_types = forms.MultipleChoiceField(
        label=_("Event types"), choices=picker.CHOICES, error_messages={"required": _("Select at least one.")}
    )
    facilities = forms.MultipleChoiceField(
        label=_("Only rides of these facilities"),
        required=False,
        widget=forms.CheckboxSelectMultiple,
        help_text=_("Leave all unchecked for every facility."),
    )
    providers = forms.MultipleChoiceField(
        label=_("Only rides of these transport providers"),
        required=False,
        widget=forms.CheckboxSelectMultiple,
        help_text=_("Leave all unchecked for every provider."),
    )
    payload_level = forms.ChoiceField(
        label=_("Ride data to send"), widget=forms.RadioSelect, choices=LEVELS, initial=PayloadLevel.ID_ONLY
    )
    phi_agreement = forms.BooleanField(
        label=_("We have agreed with the receiver that rider data may go there"), required=False
    )
    ordering = forms.ChoiceField(
        label=_("Order"), widget=forms.RadioSelect, choices=ORDERINGS, initial=Endpoint.Ordering.NONE
    )
    headers = forms.CharField(
        label=_("Extra headers"),
        required=False,
        max_length=8000,
        widget=forms.Textarea(attrs={"rows": 3, "class": "mono", "spellcheck": "false"}),
        help_text=_(
            "One per line, such as X-Site: north; at most ten. Values are stored encrypted and not shown "
            "again; dots keep the current value."
        ),
    )
    asymmetric = forms.BooleanField(
        label=_("Also sign with ed25519"),
        required=False,
        help_text=_("For receivers that verify by the public keys at /api/webhooks/keys and share no secret."),
    )
    max_in_flight = forms.IntegerField(
        label=_("On their way at once"), min_value=1, max_value=64, initial=8, help_text=_("1 to 64.")
    )

    def __init__(self, *args: Any, by: Principal, headers: Mapping[str, str], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.current_headers = headers
        choose(self, "facilities", Facility.objects.visible_to(by).order_by("name", "pk").values_list("pk", "name"))
        providers = TransportProvider.objects.visible_to(by).order_by("name", "pk").values_list("pk", "name")
        choose(self, "providers", providers)

    def typed(self) -> dict[str, Any]:
        """Return the input, valid or not, to show it again without errors."""
        return {
            name: field.widget.value_from_datadict(self.data, self.files, name) for name, field in self.fields.items()
        }

    def clean_headers(self) -> dict[str, str]:
        headers: dict[str, str] = {}
        for line in filter(str.strip, self.cleaned_data["headers"].splitlines()):
            name, colon, value = (part.strip() for part in line.partition(":"))
            if not colon or not value:
                raise forms.ValidationError(_("Each line has to be a name, a colon and a value."))
            if value == MASKED_VALUE and name not in self.current_headers:
                raise forms.ValidationError(_("Dots are allowed only for a header that already has a value."))
            if name in headers:
                raise forms.ValidationError(_("Enter each name only once."))
            headers[name] = self.current_headers[name] if value == MASKED_VALUE else value
        return headers

    def params(self) -> EndpointParams:
        values = self.cleaned_data
        return EndpointParams(
            name=values["name"],
            url=values["url"],
            event_types=[EVERYTHING] if EVERYTHING in values["event_types"] else values["event_types"],
            description=values["description"],
            facility_ids=frozenset(map(UUID, values["facilities"])) or None,
            provider_ids=frozenset(map(UUID, values["providers"])) or None,
            payload_level=values["payload_level"],
            phi_agreement=values["phi_agreement"],
            ordering=values["ordering"],
            asymmetric=values["asymmetric"],
            max_in_flight=values["max_in_flight"],
            headers=values["headers"],
        )


class NewEndpoint(EndpointForm):
    client = forms.ChoiceField(label=_("For"), required=False)
    secret = _secret_field()

    def __init__(self, *args: Any, by: Principal, **kwargs: Any) -> None:
        super().__init__(*args, by=by, headers={}, **kwargs)
        clients = ApiClient.objects.filter(active=True).order_by("name").values_list("pk", "name")
        choose(self, "client", clients, first=_("The operator's own systems"))


class EndpointChange(EndpointForm):
    """`version` is the version of the endpoint when the form was opened."""

    version = forms.IntegerField(widget=forms.HiddenInput)


def initial_of(endpoint: Endpoint, params: EndpointParams) -> dict[str, Any]:
    """Return the initial values of the form of an endpoint."""
    return {
        "name": params.name,
        "url": params.url,
        "description": params.description,
        "event_types": params.event_types,
        "facilities": [str(pk) for pk in params.facility_ids or ()],
        "providers": [str(pk) for pk in params.provider_ids or ()],
        "payload_level": params.payload_level,
        "phi_agreement": params.phi_agreement,
        "ordering": params.ordering,
        "asymmetric": params.asymmetric,
        "max_in_flight": params.max_in_flight,
        "headers": "".join(f"{name}: {MASKED_VALUE}\n" for name in sorted(params.headers)),
        "version": endpoint.version,
    }


class SecretRotation(forms.Form):
    overlap = forms.ChoiceField(label=_("Sign with the older one too for"), choices=OVERLAPS, initial="86400")
    secret = _secret_field()

    def overlap_time(self) -> timedelta:
        return timedelta(seconds=int(self.cleaned_data["overlap"]))


class RecoveryForm(forms.Form):
    """The events of a period to send again, by the status of their last delivery."""

    since = forms.DateTimeField(
        label=_("Events since"), widget=forms.DateTimeInput(format="%Y-%m-%dT%H:%M", attrs={"type": "datetime-local"})
    )
    until = forms.DateTimeField(
        label=_("Until"),
        required=False,
        widget=forms.DateTimeInput(format="%Y-%m-%dT%H:%M", attrs={"type": "datetime-local"}),
        help_text=_("Empty: until now."),
    )
    statuses = forms.MultipleChoiceField(
        label=_("Outcomes"),
        widget=forms.CheckboxSelectMultiple,
        choices=[(status, RECOVERY_STATUSES[status]) for status in RECOVERABLE],
        initial=list(DEFAULT),
    )

    def period(self, at: datetime) -> Period:
        values = self.cleaned_data
        return Period(values["since"], values["until"] or at, tuple(values["statuses"]))


class EndpointFilter(forms.Form):
    state = forms.ChoiceField(
        label=_("State"),
        required=False,
        choices=[
            ("", _("All")),
            (endpoints.FAILING, _("Failing")),
            (Endpoint.State.ACTIVE, _("Active")),
            (Endpoint.State.PAUSED, _("Paused")),
            (Endpoint.State.DISABLED, _("Switched off")),
            (Endpoint.State.PENDING, _("Not verified")),
        ],
    )
    sought = forms.CharField(
        label=_("Name or client"),
        required=False,
        max_length=100,
        widget=forms.TextInput(attrs={"type": "search", "autocomplete": "off"}),
    )


class DeliveryFilter(ListFilter):
    """A filter of deliveries; days are those of the page's time zone."""

    endpoint = forms.ChoiceField(label=_("Endpoint"), required=False)
    status = forms.ChoiceField(label=_("Status"), required=False)
    type = forms.ChoiceField(label=_("Event type"), required=False, choices=[("", _("All")), *picker.CHOICES[1:]])
    ride = forms.UUIDField(
        label=_("Ride id"),
        required=False,
        widget=forms.TextInput(attrs={"class": "mono", "spellcheck": "false", "autocomplete": "off", "size": "36"}),
        error_messages={"invalid": _("Enter a ride id.")},
    )
    event = forms.UUIDField(
        label=_("Event id"),
        required=False,
        widget=forms.TextInput(attrs={"class": "mono", "spellcheck": "false", "autocomplete": "off", "size": "36"}),
        error_messages={"invalid": _("Enter an event id; receivers see it as webhook-id.")},
    )
    since = day_field(_("From"), required=False)
    until = day_field(_("To"), required=False)

    def __init__(self, *args: Any, endpoints: Iterable[tuple[UUID, str]], statuses: Mapping[str, Any]) -> None:
        super().__init__(*args)
        choose(self, "endpoint", endpoints, first=_("All"))
        choose(self, "status", [(status.value, statuses[status].text) for status in Delivery.Status], first=_("All"))

    def criteria(self) -> deliveries.DeliveryCriteria:
        values = self.cleaned_data
        until = values["until"]
        return deliveries.DeliveryCriteria(
            endpoint_id=UUID(values["endpoint"]) if values["endpoint"] else None,
            status=[values["status"]] if values["status"] else None,
            type=[values["type"]] if values["type"] else None,
            ride_id=values["ride"],
            event_id=values["event"],
            created_from=_midnight(values["since"]),
            created_to=_midnight(until + timedelta(days=1)) if until else None,
        )


def _midnight(day: date | None) -> datetime | None:
    return None if day is None else datetime.combine(day, time(), tzinfo=timezone.get_current_timezone())
