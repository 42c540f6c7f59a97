"""The documentation of a ride: odometer readings and signatures, also those that arrive after the ride."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from typing import Any, Final

from django.db.models import DecimalField, Subquery, Sum, Value
from django.db.models.expressions import Combinable
from django.db.models.functions import Coalesce, Greatest
from django.utils.translation import gettext_lazy as _

from apps.organizations.models import Payer
from apps.rides.models import Assignment, Ride
from apps.rides.rules.documentation import LegDocumentation, missing_documents
from apps.rides.rules.exception_types import ExceptionType, ResolutionCode
from apps.rides.rules.lifecycle import BY_ACTION, Action, RideStatus
from apps.rides.rules.status_report import StatusReport
from apps.rides.services import exceptions
from apps.rides.services.status import Note, require_permission, touch
from lib.access import Principal
from lib.errors import InvalidInput

_WIRE = {
    "odometer_start": "odometerStart",
    "odometer_end": "odometerEnd",
    "loaded_miles": "loadedMiles",
    "attestation": "attestation",
    "handoff_name": "handoffName",
}
_OTHERWISE: Final = _("%(field)s already has another value.")
_CORRECT_FIRST: Final = _("%(field)s already has another value. Correct the outcome of the ride first.")


def set_odometer_start(ride: Ride, report: StatusReport) -> None:
    if report.odometer_at_pickup is not None:
        ride.odometer_start = report.odometer_at_pickup


def set_odometer_end(ride: Ride, report: StatusReport) -> None:
    """Save the readings of the drop-off, and readings of the pickup that arrive late.

    Raises:
        InvalidInput: the vehicle that the rider began and ended in would have driven backwards.
    """
    set_odometer_start(ride, report)
    if report.odometer is not None:
        ride.odometer_end = report.odometer
    if ride.odometer_start is None or ride.odometer_end is None or ride.odometer_end >= ride.odometer_start:
        return
    # A rescue vehicle has its own odometer.
    if not Assignment.objects.filter(ride=ride, sequence__gt=1).exists():
        raise InvalidInput("odometer", _("%(field)s must not be less than the reading at the pickup."))


def set_miles(ride: Ride, report: StatusReport) -> None:
    if report.loaded_miles is not None:
        ride.loaded_miles, ride.loaded_miles_source = report.loaded_miles, report.loaded_miles_source


def miles_of_the_last(ride: Ride) -> Combinable | None:
    """Return the miles of the last vehicle with the rider; after a transfer, without those of the first.  No query."""
    if ride.loaded_miles is None:
        return None
    before = (
        Assignment.objects.filter(ride=ride, status=Assignment.Status.SUPERSEDED)
        .values("ride")
        .annotate(driven=Sum("miles_attributed"))
        .values("driven")
    )
    nothing = Value(Decimal(0), DecimalField())
    return Greatest(nothing, Value(ride.loaded_miles, DecimalField()) - Coalesce(Subquery(before), nothing))


def missing_of(ride: Ride) -> list[str]:
    """List the missing documents of a ride, by the rule of its payer."""
    documentation = documentation_of(
        ride.payer,
        signatures=ride.signatures,
        has_odometer_start=ride.odometer_start is not None,
        has_odometer_end=ride.odometer_end is not None,
    )
    return missing_documents(documentation, arrived_pickup_recorded=ride.arrived_pickup_at is not None)


def documentation_of(
    payer: Payer | None,
    *,
    signatures: Sequence[Mapping[str, Any]],
    has_odometer_start: bool,
    has_odometer_end: bool = False,
) -> LegDocumentation:
    """Compare the documents with the rule of the payer; None requires nothing."""
    return LegDocumentation(
        signature_rule=payer.signature_rule if payer else "none",
        signers=payer.signers if payer else "any",
        odometer_required=payer.odometer_required if payer else False,
        signatures=signatures,
        has_odometer_start=has_odometer_start,
        has_odometer_end=has_odometer_end,
    )


def complete(ride: Ride, report: StatusReport, *, by: Principal, at: datetime) -> None:
    """Add missing readings and signatures of a repeated status report to a locked ride.

    Repeated values change nothing.  Records `ride.updated`, and resolves `missing_documentation` once nothing is
    missing.

    Raises:
        ScopeMissing: the caller may not report the status of rides.
        InvalidInput: a field already has another value (correct the outcome first), or the odometer decreases.
    """
    signatures = [signature for signature in report.signatures if signature not in ride.signatures]
    reported = {
        "odometer_start": report.odometer_at_pickup,
        "odometer_end": report.odometer if report.status is RideStatus.COMPLETED else None,
        "loaded_miles": report.loaded_miles,
        "attestation": report.attestation,
        "handoff_name": report.handoff_name or None,
    }
    added = []
    for name, value in reported.items():
        recorded = getattr(ride, name)
        if value is None or value == recorded:
            continue
        if recorded not in (None, ""):
            read_now = name == "odometer_end" or (name == "odometer_start" and report.odometer_start is None)
            field = "odometer" if read_now else _WIRE[name]
            template = _CORRECT_FIRST if ride.status == RideStatus.COMPLETED else _OTHERWISE
            raise InvalidInput(field, template, detail_code="taken")
        added.append(name)
    if not added and not signatures:
        return
    require_permission(BY_ACTION[RideStatus.IN_PROGRESS, Action.COMPLETE], by)
    _set_readings(ride, report)
    ride.attestation = report.attestation or ride.attestation
    ride.handoff_name = report.handoff_name or ride.handoff_name
    changed = [_WIRE[name] for name in added]
    if "loaded_miles" in added:
        set_miles(ride, report)
        added.append("loaded_miles_source")
        of_the_last = Assignment.objects.filter(ride=ride, status=Assignment.Status.COMPLETED)
        of_the_last.update(miles_attributed=miles_of_the_last(ride))
    if signatures:
        ride.signatures = [*ride.signatures, *signatures]
        added.append("signatures")
        changed.append("signatures")
    if ride.status == RideStatus.COMPLETED:
        ride.missing_documents = missing_of(ride)
    note = Note(data={"changed": changed})
    touch(ride, "ride.updated", by=by, at=at, also=[*added, "missing_documents"], note=note)
    if not ride.missing_documents:
        code = ResolutionCode.RECOVERED_LATE
        exceptions.settle(ride, [ExceptionType.MISSING_DOCUMENTATION], by=by, at=at, code=code)


def _set_readings(ride: Ride, report: StatusReport) -> None:
    if report.status is RideStatus.COMPLETED:
        set_odometer_end(ride, report)
    else:
        set_odometer_start(ride, report)
