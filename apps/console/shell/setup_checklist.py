"""The setup checklist of an operator: steps before the first ride, completed by the data and not by hand."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final
from zoneinfo import ZoneInfo

from allauth.mfa.models import Authenticator
from django.conf import settings
from django.db.models import Exists, OuterRef, Q
from django.urls import reverse
from django.utils.functional import Promise
from django.utils.text import capfirst
from django.utils.translation import gettext_lazy as _

from apps.accounts.models import ApiToken, User
from apps.accounts.rules.admin_rights import roles_with
from apps.accounts.rules.roles import SCOPES_OF_TOKEN, SCOPES_OF_USER, UserRole
from apps.console.account.adapters import SECOND_FACTORS
from apps.fleet import queries as fleet
from apps.fleet.models import Activation, Driver, Shift, Vehicle, VehicleStatus
from apps.fleet.rules.credentials import Subject
from apps.organizations.models import Contact, Entrance, Facility, TransportProvider
from apps.webhooks.models import Endpoint
from lib.access import Principal
from lib.scopes import Scope

Text = str | Promise
NO_MAIL: Final = "django.core.mail.backends.dummy.EmailBackend"
_DISPATCH: Final = [role for role in UserRole if Scope.ASSIGNMENTS_WRITE in SCOPES_OF_USER[role]]
_BOOKING: Final = [role for role, scopes in SCOPES_OF_TOKEN.items() if Scope.RIDES_WRITE in scopes]


@dataclass(frozen=True, slots=True)
class Item:
    """A setup task: `begin` links to its first step; `resume` to the remaining steps once data exists.

    Each is a label and a URL name, "" if the task is not done in the console.  `permission` is one of /admin/ or a
    scope; "" if any user may do it.
    """

    key: str
    label: Text
    about: Text
    begin: tuple[Text, str] = ("", "")
    resume: tuple[Text, str] | None = None
    permission: str = ""
    optional: bool = False


@dataclass(frozen=True, slots=True)
class Step:
    """The state of an item; `url` of its next step is "" if the user lacks the right or it is not done in the console.

    `roles` lists the roles that may do it.
    """

    key: str
    label: Text
    about: Text
    done: bool
    optional: bool
    next: Text
    url: str
    roles: str


@dataclass(frozen=True, slots=True)
class Checklist:
    """All steps in order; collapsed when only optional steps are left, hidden when all are done."""

    steps: tuple[Step, ...]

    @property
    def required(self) -> list[Step]:
        return [step for step in self.steps if not step.optional]

    @property
    def done(self) -> int:
        """The number of completed required steps."""
        return sum(step.done for step in self.required)

    @property
    def is_open(self) -> bool:
        return self.done < len(self.required)

    @property
    def is_complete(self) -> bool:
        return all(step.done for step in self.steps)

    @property
    def next(self) -> Step | None:
        """The first required step that is not done."""
        return next((step for step in self.required if not step.done), None)


_ITEMS: Final = (
    Item(
        "facility",
        _("A facility with an entrance and a contact"),
        _("Pickup and drop-off places, with entrances and contacts."),
        begin=(_("Add a facility"), "admin:organizations_facility_add"),
        resume=(_("Add its entrance and contact"), "admin:organizations_facility_changelist"),
        permission="organizations.add_facility",
    ),
    Item(
        "provider",
        _("A transport provider"),
        _("The company or fleet that drives: drivers and vehicles belong to one."),
        begin=(_("Add a provider"), "admin:organizations_transportprovider_add"),
        resume=(_("Open the providers"), "admin:organizations_transportprovider_changelist"),
        permission="organizations.add_transportprovider",
    ),
    Item(
        "vehicle",
        _("A vehicle that may be on the road"),
        _("In service, with registration, insurance and inspection in force."),
        begin=(_("Add a vehicle"), "admin:fleet_vehicle_add"),
        resume=(_("Add credentials"), "credential_board_vehicles"),
        permission="fleet.add_vehicle",
    ),
    Item(
        "driver",
        _("A driver who may drive"),
        _("Active, with every required credential valid."),
        begin=(_("Add a driver"), "admin:fleet_driver_add"),
        resume=(_("Add credentials and activate"), "fleet_drivers"),
        permission="fleet.add_driver",
    ),
    Item(
        "shift",
        _("A shift"),
        _("Shifts of drivers and vehicles."),
        begin=(_("Plan a shift"), "new_shift"),
        permission=Scope.DRIVERS_WRITE,
    ),
    Item(
        "dispatch",
        _("A dispatcher"),
        _("A dispatcher or dispatch supervisor, who assigns drivers to rides."),
        begin=(_("Add a person"), "admin:accounts_user_add"),
        permission="accounts.add_user",
    ),
    Item(
        "booking",
        _("A discharge planner"),
        _("A discharge planner who is a member of one, or an API token of a system that books."),
        begin=(_("Add a person"), "admin:accounts_user_add"),
        resume=(_("Give a planner a facility"), "admin:accounts_user_changelist"),
        permission="accounts.add_user",
    ),
    Item(
        "second_factor",
        _("Two-factor authentication"),
        _("An authenticator app or a passkey is required to sign in."),
        begin=(_("Set it up"), "mfa_index"),
    ),
    Item(
        "mail",
        _("Mail"),
        _("EMAIL_URL of the server. Without it alerts stay in the console, and password links go from hand to hand."),
        optional=True,
    ),
    Item(
        "systems",
        _("A system that is connected"),
        _("An API token, or a webhook endpoint that receives events."),
        begin=(_("Create a token"), "api_tokens"),
        permission=Scope.TOKENS_MANAGE,
        optional=True,
    ),
)


def checklist(user: User, *, by: Principal, at: datetime) -> Checklist:
    """Return the state of all steps.  One query."""
    completed = _completed_items(user, by, at)
    completed["mail"] = settings.EMAIL_BACKEND != NO_MAIL
    items = [item for item in _ITEMS if item.key != "second_factor" or settings.MFA_REQUIRED]
    return Checklist(tuple(_step(item, completed, user) for item in items))


def _completed_items(user: User, by: Principal, at: datetime) -> dict[str, bool]:
    """Check all steps in one query of EXISTS conditions."""
    facilities = Facility.objects.visible_to(by).filter(active=True)
    providers = TransportProvider.objects.visible_to(by).filter(active=True)
    drivers, vehicles = Driver.objects.visible_to(by), Vehicle.objects.visible_to(by)
    people = User.objects.filter(is_active=True)
    planners = people.filter(role=UserRole.PLANNER)
    tokens = ApiToken.objects.visible_to(by).live(at).filter(client__active=True)
    today = at.astimezone(ZoneInfo(settings.OPERATOR_TIME_ZONE)).date()
    of_facility = {"facility": OuterRef("pk")}
    of_provider = Q(provider__active=True)
    querysets = {
        "facility": facilities.filter(
            Exists(Entrance.objects.filter(**of_facility)), Exists(Contact.objects.filter(**of_facility))
        ),
        "facility_begun": facilities,
        "provider": providers,
        "provider_begun": TransportProvider.objects.visible_to(by),
        "vehicle": vehicles.filter(
            of_provider, fleet.with_valid_credentials(Subject.VEHICLE, today), status=VehicleStatus.IN_SERVICE
        ),
        "vehicle_begun": vehicles,
        "driver": drivers.filter(
            of_provider, fleet.with_valid_credentials(Subject.DRIVER, today), activation=Activation.ACTIVE
        ),
        "driver_begun": drivers,
        "shift": Shift.objects.visible_to(by).filter(status=Shift.Status.PLANNED),
        "dispatch": people.filter(role__in=_DISPATCH),
        "planner": planners.filter(facilities__active=True),
        "booking_begun": planners,
        "booking_system": tokens.filter(
            Q(scopes=None) | Q(scopes__contains=[Scope.RIDES_WRITE.value]), role__in=_BOOKING
        ),
        "second_factor": Authenticator.objects.filter(user=OuterRef("pk"), type__in=SECOND_FACTORS),
        "token": tokens,
        "endpoint": Endpoint.objects.filter(deleted_at=None),
    }
    exists: Mapping[str, Any] = {f"has_{name}": Exists(rows) for name, rows in querysets.items()}
    row = User.objects.annotate(**exists).values(*exists).get(pk=user.pk)
    completed = {name: row[f"has_{name}"] for name in querysets}
    return completed | {
        "booking": completed["planner"] or completed["booking_system"],
        "systems": completed["token"] or completed["endpoint"],
    }


def _step(item: Item, completed: Mapping[str, bool], user: User) -> Step:
    is_begun = completed.get(f"{item.key}_begun", False)
    label, address = item.resume if is_begun and item.resume else item.begin
    is_allowed = not item.permission or user.has_perm(item.permission) or item.permission in user.scopes
    return Step(
        key=item.key,
        label=item.label,
        about=item.about,
        done=completed[item.key],
        optional=item.optional,
        next=label,
        url=_url(address) if address and is_allowed else "",
        roles=_role_names(item),
    )


def _url(address: str) -> str:
    if address == "credential_board_vehicles":
        return f"{reverse('credential_board')}?of=vehicles"
    return reverse(address)


def _role_names(item: Item) -> str:
    if item.permission in Scope.values:
        roles = [role for role, scopes in SCOPES_OF_USER.items() if item.permission in scopes]
    else:
        roles = roles_with(item.permission) if item.permission else []
    return ", ".join(str(capfirst(role.label)) for role in roles)
