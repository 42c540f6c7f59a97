"""Forms and lists of the fleet pages: filters, credentials, activation of drivers, status of vehicles."""

from collections.abc import Iterable
from typing import Any, Final
from uuid import UUID

from django import forms
from django.http import QueryDict
from django.utils.text import capfirst
from django.utils.translation import gettext_lazy as _

from apps.console.fleet import labels
from apps.console.fleet.credential_board import BROKEN, GIVEN, NAME, PROVIDER, SOONEST, BoardQuery
from apps.console.ride.ride_forms import Versioned
from apps.fleet.models import Activation, CredentialType
from apps.fleet.rules.credentials import TYPES_OF, Subject
from lib.console_forms import ListFilter, add_errors, choose, day_field
from lib.errors import DomainError
from lib.ids import uuid_or_none
from lib.listing import SIZES, Listing

# Names of owner kinds in URLs.
KINDS: Final = {"drivers": Subject.DRIVER, "vehicles": Subject.VEHICLE}
_TYPE_LABELS: Final = {
    kind: capfirst(CredentialType(kind).label) for subject in KINDS.values() for kind in TYPES_OF[subject]
}
CREDENTIALS: Final = Listing(
    "credential_board",
    sorts={
        SOONEST: _("Soonest first"),
        NAME: _("Name"),
        f"-{BROKEN}": _("Rides at risk"),
        **_TYPE_LABELS,
    },
    columns={BROKEN: _("Rides at risk"), **_TYPE_LABELS},
    size=SIZES[-1],
)
DRIVERS: Final = Listing(
    "fleet_drivers",
    sorts={
        NAME: _("Driver"),
        PROVIDER: _("Provider"),
        SOONEST: _("Next to expire"),
        f"-{GIVEN}": _("Upcoming rides"),
    },
    columns={
        "status": _("May drive"),
        PROVIDER: _("Provider"),
        SOONEST: _("Next to expire"),
        GIVEN: _("Upcoming rides"),
    },
    size=SIZES[-1],
)
_ANY: Final = ("", _("Any"))
_ACTIVATIONS: Final = [(name, badge.text) for name, badge in labels.ACTIVATIONS.items()]


class _Filter(ListFilter):
    """Ignores values that are no choice of their field."""

    provider = forms.ChoiceField(label=_("Provider"), required=False)

    def __init__(self, query: QueryDict, *, providers: Iterable[tuple[UUID, str]]) -> None:
        super().__init__(query)
        choose(self, "provider", providers, first=_("Any"))
        self.is_valid()

    def value(self, name: str) -> str:
        return str(self.cleaned_data.get(name, ""))

    @property
    def provider_id(self) -> UUID | None:
        return uuid_or_none(self.value("provider"))


class CredentialBoardFilter(_Filter):
    of = forms.ChoiceField(required=False, choices=[(kind, kind) for kind in KINDS], widget=forms.HiddenInput)
    status = forms.ChoiceField(label=_("Credentials"), required=False, choices=[_ANY, *labels.NARROWED.items()])

    field_order = ("of", "provider", "status")

    @property
    def kind(self) -> str:
        return self.value("of") or "drivers"

    def board_query(self, sort: str) -> BoardQuery:
        return BoardQuery(
            subject=KINDS[self.kind], provider_id=self.provider_id, status=self.value("status"), sort=sort
        )

    def parameters(self) -> dict[str, str]:
        """Return the filter as URL parameters: only known names and values, without the default kind."""
        return {name: value for name, value in super().parameters().items() if (name, value) != ("of", "drivers")}


class DriversFilter(_Filter):
    """Sent by POST, because it contains a person's name and URLs must not."""

    q = forms.CharField(label=_("Name"), required=False, max_length=100)
    activation = forms.ChoiceField(
        label=_("May drive"), required=False, choices=[("", _("All except former drivers")), *_ACTIVATIONS]
    )

    field_order = ("q", "activation", "provider")

    def board_query(self, sort: str) -> BoardQuery:
        return BoardQuery(
            provider_id=self.provider_id, activation=self.value("activation"), name=self.value("q"), sort=sort
        )

    def parameters(self) -> dict[str, str]:
        """Return the filter as URL parameters, without the name."""
        return {name: value for name, value in super().parameters().items() if name != "q"}


class FileForm(forms.Form):
    """A credential that replaces the active one."""

    number = forms.CharField(label=_("Number"), required=False, max_length=50)
    issuer = forms.CharField(label=_("Issued by"), required=False, max_length=100)
    issued_on = day_field(_("Issued on"), required=False)
    expires_on = day_field(_("Expiration date"), required=False, help_text=_("Leave blank if it does not expire."))
    blocking = forms.BooleanField(label=_("Required to drive"), required=False)

    def refuse(self, refusal: DomainError) -> None:
        add_errors(self, refusal, {"issuedOn": "issued_on", "expiresOn": "expires_on"})


class RejectForm(forms.Form):
    reason = forms.CharField(
        label=_("Reason for the rejection"), max_length=500, widget=forms.Textarea(attrs={"rows": 2})
    )


class DocumentForm(forms.Form):
    """A scan of a credential.  The service validates its content."""

    document = forms.FileField(
        label=_("Scan: PDF, JPEG or PNG"),
        widget=forms.FileInput(attrs={"accept": ".pdf,.jpg,.jpeg,.png"}),
    )

    def refuse(self, refusal: DomainError) -> None:
        add_errors(self, refusal, {"document": "document"})


class RemoveForm(forms.Form):
    reason = forms.CharField(
        label=_("Reason for the removal"), max_length=500, widget=forms.Textarea(attrs={"rows": 2})
    )


class ActivationForm(Versioned):
    """A change of a driver's activation."""

    to = forms.ChoiceField(
        choices=[(status, status) for status in (Activation.ACTIVE, Activation.SUSPENDED, Activation.INACTIVE)],
        widget=forms.HiddenInput,
    )
    reason = forms.CharField(
        label=_("Reason"), required=False, max_length=200, widget=forms.Textarea(attrs={"rows": 2})
    )
    release = forms.BooleanField(label=_("Unassign the driver from every ride that has not started"), required=False)

    names = {"reason": "reason"}

    def __init__(self, *args: Any, to: str, **options: Any) -> None:
        super().__init__(*args, **options)
        if to == Activation.SUSPENDED:
            self.fields["reason"].required = True
        if to == Activation.ACTIVE:
            del self.fields["release"]


class VehicleStatusForm(Versioned):
    """A change of a vehicle's status."""

    status = forms.ChoiceField(
        label=_("New status"), choices=[(name, badge.text) for name, badge in labels.VEHICLE_STATUSES.items()]
    )
    reason = forms.CharField(
        label=_("Reason"), required=False, max_length=200, widget=forms.Textarea(attrs={"rows": 2})
    )

    names = {"reason": "reason", "status": "status"}
