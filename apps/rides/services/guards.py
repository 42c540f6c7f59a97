"""Evaluates the guards of a transition for a locked ride and its report."""

from collections.abc import Sequence
from datetime import datetime
from typing import cast
from uuid import UUID
from zoneinfo import ZoneInfo

from django.utils.translation import gettext_lazy as _

from apps.fleet.models import Activation, VehicleStatus
from apps.fleet.queries import active_credentials
from apps.fleet.rules.credentials import STATUS_TEXTS, CredentialType, Subject, missing_or_expired
from apps.organizations.models import Payer
from apps.rides.models import Milestone, Ride
from apps.rides.rules.documentation import missing_at
from apps.rides.rules.guards import ContactAttempt, Facts, Failed, failed
from apps.rides.rules.lifecycle import Guard
from apps.rides.rules.status_report import StatusReport
from apps.rides.services import documents, eligibility_checks
from apps.rides.services.eligibility_checks import Override
from lib.access import Principal
from lib.errors import Code, Detail, DomainError
from lib.messages import Message, Template, Text, lowered


class GuardFailed(DomainError):
    """Conditions of the transition are not met; `details` list all of them, soft ones marked."""

    code = Code.TRANSITION_GUARD_FAILED

    def __init__(self, failures: Sequence[Failed]) -> None:
        super().__init__(
            failures[0].message,
            details=[
                Detail(
                    code=failure.guard.value,
                    message=failure.message,
                    also={"guard": failure.guard.value, "kind": "soft" if failure.soft else "hard"},
                )
                for failure in failures
            ],
        )


def require(
    guards: Sequence[Guard], ride: Ride, report: StatusReport, *, occurred_at: datetime, by: Principal
) -> list[str]:
    """Refuse a transition whose guards are not met, unless all are soft and overridden; return the overridden ones.

    Raises:
        GuardFailed: a hard guard is not met, or a soft one and there is no override.
        ScopeMissing, InvalidInput: see `require_override_right`.
    """
    if not guards:
        return []
    failures = failed(guards, facts_of(guards, ride, report, occurred_at=occurred_at))
    if not failures:
        return []
    if not report.override or any(not failure.soft for failure in failures):
        raise GuardFailed(failures)
    eligibility_checks.require_override_right(Override(report.override, report.override_reason), by)
    return [failure.guard.value for failure in failures]


def facts_of(guards: Sequence[Guard], ride: Ride, report: StatusReport, *, occurred_at: datetime) -> Facts:
    """Read the facts that these guards need, and no others."""
    owner = ride.facility or ride.pickup_facility
    departs = Guard.CREDENTIALS_VALID in guards or Guard.VEHICLE_IN_SERVICE in guards
    activation, vehicle_status = _crew_statuses(ride) if departs else ("", "")
    accommodation = ride.accommodation
    return Facts(
        at=occurred_at,
        pickup_at=ride.pickup_at,
        window_ends_at=ride.window_ends_at,
        will_call=ride.will_call,
        ready_at=ride.ready_at,
        promised_pickup_by=ride.promised_pickup_by,
        service_type=ride.service_type,
        pickup_at_facility=ride.pickup_facility_id is not None,
        mobility=accommodation["mobility"],
        oxygen_uses=accommodation.get("oxygen", {}).get("uses", False),
        handoff_required=accommodation.get("handoffRequired", False),
        discharge_checklist=(ride.discharge or {}).get("checklist") or {},
        facility_wait_minutes=owner.no_show_wait_minutes if owner else None,
        arrived_at=ride.arrived_pickup_at,
        contact_attempts=_contact_attempts(ride) if Guard.CONTACT_ATTEMPTED in guards else (),
        invalid_credentials=_credential_gaps(ride, activation, occurred_at)
        if Guard.CREDENTIALS_VALID in guards
        else (),
        vehicle_in_service=vehicle_status == VehicleStatus.IN_SERVICE if departs else True,
        securement_confirmed=report.securement_confirmed,
        proof_missing=_proof_missing(ride.payer, report) if Guard.PICKUP_PROOF in guards else (),
        handoff_name=report.handoff_name,
        rider_location_given=bool(report.rider_location.strip()) or report.place is not None,
        ended_at=ride.status_changed_at,
    )


def _contact_attempts(ride: Ride) -> tuple[ContactAttempt, ...]:
    rows = Milestone.objects.filter(ride=ride, type=Milestone.Type.CONTACT_ATTEMPT, voided=False)
    return tuple(ContactAttempt(at=row.occurred_at, contacted=row.contacted) for row in rows)


def _crew_statuses(ride: Ride) -> tuple[str, str]:
    """Return activation of the driver and status of the vehicle, "" if there is none."""
    columns = Ride.objects.filter(pk=ride.pk).values_list("driver__activation", "vehicle__status")
    activation, vehicle_status = columns.get()
    return activation or "", vehicle_status or ""


def _credential_gaps(ride: Ride, activation: str, occurred_at: datetime) -> tuple[Template, ...]:
    """List missing or expired credentials of driver and vehicle on the local day of the transition.  One query."""
    today = occurred_at.astimezone(ZoneInfo(ride.timezone)).date()
    # Rides about to depart have both: `ride_underway_has_driver_and_vehicle`.
    driver_id, vehicle_id = cast(UUID, ride.driver_id), cast(UUID, ride.vehicle_id)
    credentials = active_credentials([driver_id], [vehicle_id])
    gaps = [
        *missing_or_expired(Subject.DRIVER, credentials[driver_id], today),
        *missing_or_expired(Subject.VEHICLE, credentials[vehicle_id], today),
    ]
    texts: list[tuple[Text, Text]] = [(CredentialType(gap.type).label, STATUS_TEXTS[gap.status]) for gap in gaps]
    if activation != Activation.ACTIVE:
        texts.insert(0, (_("driver"), lowered(Activation(activation).label)))
    return tuple(Message(_("%(subject)s (%(status)s)"), {"subject": subject, "status": why}) for subject, why in texts)


def _proof_missing(payer: Payer | None, report: StatusReport) -> tuple[str, ...]:
    documentation = documents.documentation_of(
        payer, signatures=report.signatures, has_odometer_start=report.odometer_at_pickup is not None
    )
    return tuple(missing_at("pickup", documentation))
