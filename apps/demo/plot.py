"""Building blocks of a ride's plot: booking, assignment, outcomes, and the handling of exceptions."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Final

from apps.demo.dice import HOUR, MINUTE, ZONE, Dice, wall
from apps.demo.fleet import DemoDuty
from apps.demo.legs import DemoLeg
from apps.demo.story import RideStory
from apps.rides.rules.exception_types import ExceptionType
from apps.rides.rules.lifecycle import BY_STATUSES, ReasonList, RideStatus
from apps.rides.rules.reasons import Cancelled, cancellation_timing, default_fault
from apps.rides.services.outcomes import OPENED_BY_REASON

_X, _S = ExceptionType, RideStatus
LATE_CANCEL_MINUTES: Final = 120
# Days before the ride on which its driver is assigned: rides to dialysis earlier, because they are missed first
# (`UNASSIGNED_BEFORE` of apps/rides/rules/exception_rules.py: nothing is at risk by then).
PLANNED_DAYS_AHEAD: Final = {False: 3, True: 4}
_FAILURES: Final = {
    "unf_no_driver": "no_driver_available",
    "unf_given_back": "given_back_late",
    "unf_breakdown": "vehicle_breakdown",
    "unf_rider_left": "late_rider_left",
    "unf_aborted": "aborted_medical_emergency",
}
StandIn = Callable[[DemoLeg, Dice], DemoDuty | None]
Step = tuple[int, int, Callable[[], None]]


class Plot:
    """Schedule of the steps of one ride."""

    def __init__(self, story: RideStory, stand_in: StandIn) -> None:
        self.story, self.leg, self.cast, self.dice = story, story.leg, story.cast, story.dice
        self.stand_in = stand_in
        self.steps: list[Step] = []
        self.in_time = not self.leg.arrived or self.leg.arrived <= self.promised_by()

    def at(self, second: int, step: Callable[[], None]) -> None:
        """Add a step at an instant; steps of one instant run in the order in which they were added."""
        self.steps.append((second, len(self.steps), step))

    def promised_by(self) -> int:
        return self.leg.ready_at + HOUR if self.leg.will_call else self.leg.window_ends

    def book(self) -> None:
        leg, story = self.leg, self.story
        by_interface = leg.is_recurring or self.dice.hit(0.55)
        booker = self.cast.ehr if by_interface else self.cast.dispatcher
        if by_interface:
            story.row["client_id"] = self.cast.ehr_client
            story.row["client_reference"] = f"ORD-{leg.key}"
            self._external_id()
        status = _S.REQUESTED if leg.confirmed_at else _S.SCHEDULED
        self.at(leg.requested_at, partial(story.create, leg.requested_at, status, booker))
        if leg.confirmed_at:
            overdue = leg.requested_at + 30 * MINUTE
            if leg.confirmed_at > overdue:
                self.at(overdue, partial(story.open, _X.UNCONFIRMED_REQUEST, overdue, "confirm_by", due=overdue))
            self.at(leg.confirmed_at, partial(story.confirm, leg.confirmed_at))

    def while_open(self, step: Callable[[], None]) -> None:
        """Run a step only if the vehicle has not departed."""
        if self.story.status in (_S.REQUESTED, _S.SCHEDULED, _S.ASSIGNED):
            step()

    def reporter(self) -> None:
        """Choose who reports milestones: nearly always the driver's phone."""
        story = self.story
        story.source = self.dice.choices(("driver_app", "dispatcher_manual", "integration"), (93, 5, 2))[0]
        story.reporter = self.cast.dispatcher if story.source == "dispatcher_manual" else self.cast.driver_app

    def lag(self) -> int:
        """Return the delay of a report: seconds, or minutes if the phone had no signal."""
        if self.leg.freeze:
            return 5
        return self.dice.randrange(3, 26) * MINUTE if self.dice.hit(0.03) else self.dice.randrange(1, 20)

    def _external_id(self) -> None:
        self.story.tables.external_ids.append(
            {"id": self.dice.id_at(self.leg.requested_at), "subject_type": "ride", "subject_id": self.story.id,
             "system": "urn:demo:ehr:order", "value": f"ORD-{self.leg.key}", "type": "order"}
        )  # fmt: skip

    @property
    def scheduled_at(self) -> int:
        return self.leg.confirmed_at or self.leg.requested_at

    def plan_time(self, latest: int) -> int:
        """Return when a driver is assigned: some days before, in the afternoon, or soon after a later booking."""
        days = PLANNED_DAYS_AHEAD[self.leg.service == "dialysis"]
        planned = wall(self.leg.day - timedelta(days=days), 13 * 60) + self.dice.randrange(4 * 3600)
        if planned < self.scheduled_at:
            planned = self.scheduled_at + self.dice.randrange(4, 22) * MINUTE
        return max(self.scheduled_at + 30, min(planned, latest))

    def assign(self, duty: DemoDuty, latest: int) -> None:
        """Assign driver and vehicle by `latest`; sometimes after a declined offer, or in place of another pair."""
        story, dice, dispatcher = self.story, self.dice, self.cast.dispatcher
        at = self.plan_time(latest)
        if self.leg.will_call and dice.hit(0.45) and self.leg.ready_at + 3 * MINUTE < latest:
            at = max(at, min(self.leg.ready_at + dice.randrange(2, 8) * MINUTE, latest))
        method = "series" if self.leg.is_recurring else dice.choices(("auto", "manual", "api"), (58, 34, 8))[0]
        by = dispatcher if method == "manual" else "system"
        other_duty = self.stand_in(self.leg, dice) if dice.hit(0.045) and not self.leg.freeze else None
        if other_duty is None or other_duty.driver is duty.driver or at + 20 * MINUTE > latest:
            self.at(at, partial(story.assign, at, duty, method, by))
            return
        first = max(self.scheduled_at + 40, at - dice.randrange(1, 10) * MINUTE)
        at = min(latest, max(at, first) + dice.randrange(20, 300) * MINUTE)
        if dice.hit(0.3):
            self.at(first, partial(story.offer, first, other_duty))
            self.at(first + 4 * MINUTE, partial(story.decline, first + 4 * MINUTE))
        else:
            self.at(first, partial(story.assign, first, other_duty, method, by))
            if dice.hit(0.4):
                unassigned_at, reason = (first + at) // 2, dice.choice(("replanned", "driver_ill", "driver_released"))
                self.at(unassigned_at, partial(story.unassign, unassigned_at, reason, dispatcher))
        self.at(at, partial(story.assign, at, duty, "manual", dispatcher))

    def fail(self, at: int, *, note: str = "") -> None:
        """End the ride unfulfilled, and let a person close the exception that this opens."""
        code = _FAILURES[self.leg.fate]
        self.at(at, partial(self._fail, at, code, note))
        self.handle_exception(_X.RIDE_UNFULFILLED, at, 60)
        if code in OPENED_BY_REASON:
            self.handle_exception(OPENED_BY_REASON[code], at, 60)

    def _fail(self, at: int, code: str, note: str) -> None:
        by, rule = self.cast.dispatcher, BY_STATUSES[self.story.status, _S.UNFULFILLED].number
        self.end(at, _S.UNFULFILLED, ReasonList.UNFULFILLED, code, by, note)
        self.story.open(_X.RIDE_UNFULFILLED, at, rule, by=by)
        if code in OPENED_BY_REASON:
            self.story.open(OPENED_BY_REASON[code], at, rule, by=by, details={"reasonCode": code})

    def handle_exception(self, type_: ExceptionType, opened: int, within_minutes: int) -> None:
        """Let a dispatcher acknowledge an exception and close it later, in most cases."""
        seen = opened + self.dice.randrange(4, 30) * MINUTE
        closed = seen + self.dice.randrange(10, within_minutes) * MINUTE
        self.at(seen, partial(self.story.acknowledge, type_, seen))
        if not self.dice.hit(0.002):
            by = self.cast.dispatcher if self.dice.hit(0.8) else self.cast.supervisor
            self.at(closed, partial(self.story.resolve, {type_}, closed, by, "handled_elsewhere"))

    def end(
        self, at: int, target: RideStatus, reasons: ReasonList, code: str, by: str, note: str = "", timing: str = ""
    ) -> None:
        fault = default_fault(reasons, code, at_facility=self.leg.origin.place is not None)
        ending = {"reason_code": code, "fault": fault.value, "cancellation_timing": timing, "end_note": note}
        self.story.end(at, target, ending, by)

    def cancel(self, at: int) -> None:
        facts = Cancelled(self.story.status, _moment(self.leg.pickup_at), _moment(at), ZONE, LATE_CANCEL_MINUTES)
        code = self.leg.reason or "rider_request"
        at_door = self.story.status == _S.ARRIVED
        by = self.story.reporter if at_door else self.cast.ehr if self.dice.hit(0.5) else self.cast.dispatcher
        self.end(at, _S.CANCELLED, ReasonList.CANCELLED, code, by, timing=cancellation_timing(facts).value)


def _moment(second: int) -> datetime:
    return datetime.fromtimestamp(second, UTC)
