"""What pages call statuses, moments, sources and outcomes of rides: the console, the home page and /admin/ alike.

Labels of the choices themselves stay as the API and stored texts have them.
"""

from collections.abc import Mapping
from typing import Final

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy

from apps.rides.models import Milestone
from apps.rides.rules.exception_types import ResolutionCode
from apps.rides.rules.lifecycle import RideStatus

Text = str | Promise

STATUSES: Final[Mapping[str, Text]] = {
    RideStatus.REQUESTED: gettext_lazy("Requested"),
    RideStatus.SCHEDULED: gettext_lazy("Unassigned"),
    RideStatus.ASSIGNED: gettext_lazy("Assigned"),
    RideStatus.EN_ROUTE: gettext_lazy("En route"),
    RideStatus.ARRIVED: gettext_lazy("At the pickup"),
    RideStatus.IN_PROGRESS: gettext_lazy("On board"),
    RideStatus.COMPLETED: gettext_lazy("Completed"),
    RideStatus.CANCELLED: gettext_lazy("Cancelled"),
    RideStatus.NO_SHOW: gettext_lazy("No-show"),
    RideStatus.UNFULFILLED: gettext_lazy("Not driven"),
}
# Where will-calls that nobody has released are among those that are scheduled, as the database has them.
STORED_STATUSES: Final[Mapping[str, Text]] = {**STATUSES, RideStatus.SCHEDULED: RideStatus.SCHEDULED.label}
CODES: Final[Mapping[str, Text]] = {
    ResolutionCode.RECOVERED_ON_TIME: gettext_lazy("Recovered, on time"),
    ResolutionCode.RECOVERED_LATE: gettext_lazy("Recovered, late"),
    ResolutionCode.REASSIGNED: gettext_lazy("Another driver"),
    ResolutionCode.RESCHEDULED: gettext_lazy("Another time"),
    ResolutionCode.CANCELLED: gettext_lazy("Ride cancelled"),
    ResolutionCode.UNFULFILLED: gettext_lazy("Ride not driven"),
    ResolutionCode.FALSE_ALARM: gettext_lazy("False alarm"),
    ResolutionCode.HANDLED_ELSEWHERE: gettext_lazy("Handled elsewhere"),
    ResolutionCode.OTHER: gettext_lazy("Other"),
}
MOMENTS: Final[Mapping[str, Text]] = {
    Milestone.Type.READY: gettext_lazy("Ready"),
    Milestone.Type.DEPARTED: gettext_lazy("Driver departed"),
    Milestone.Type.ARRIVED_PICKUP: gettext_lazy("Arrived at the pickup"),
    Milestone.Type.BOARDED: gettext_lazy("On board"),
    Milestone.Type.ARRIVED_DROPOFF: gettext_lazy("Arrived at the drop-off"),
    Milestone.Type.DROPPED_OFF: gettext_lazy("Dropped off"),
    Milestone.Type.CONTACT_ATTEMPT: gettext_lazy("Tried to reach somebody"),
    Milestone.Type.HANDOFF: gettext_lazy("Handed over"),
}
SOURCES: Final[Mapping[str, Text]] = {
    Milestone.Source.DRIVER_APP: gettext_lazy("driver's app"),
    Milestone.Source.DISPATCHER_MANUAL: gettext_lazy("entered by hand"),
    Milestone.Source.INTEGRATION: gettext_lazy("another system"),
    Milestone.Source.HL7: gettext_lazy("hospital system (HL7)"),
    Milestone.Source.SMS: gettext_lazy("text message"),
    Milestone.Source.SYSTEM: gettext_lazy("Carelane"),
}
