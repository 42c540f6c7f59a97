"""Journeys for tests of bulk booking."""

import datetime as dt
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any
from uuid import UUID

from apps.organizations.models import Facility
from apps.rides.queries import bookings
from apps.rides.rules.draft import RideDraft
from apps.rides.services import booking, recurring_booking
from apps.rides.services.recurring_booking import (
    LegSchedule,
    Refused,
    RidePlan,
    ServiceDay,
)
from lib.access import Principal
from tests import factories

HOUR = dt.timedelta(hours=1)
DAY = dt.timedelta(days=1)


def both_ways(asked: RideDraft) -> list[RideDraft]:
    return [asked] if asked.return_leg is None else [asked, booking.return_draft(asked, asked.return_leg)]


def later(asked: RideDraft, days: int) -> RideDraft:
    """Return the same journey some days later, at the same times in UTC."""
    back = asked.return_leg
    if back is not None and back.pickup_at is not None:
        back = replace(back, pickup_at=back.pickup_at + days * DAY)
    appointment_at = asked.appointment_at and asked.appointment_at + days * DAY
    return replace(asked, pickup_at=asked.pickup_at + days * DAY, appointment_at=appointment_at, return_leg=back)


def course_of(asked: RideDraft, owner: Facility, by: Principal) -> RidePlan:
    drafts = both_ways(asked)
    assert asked.rider_id is not None
    resources = recurring_booking.read_resources(drafts, by=by)
    return recurring_booking.plan_rides(
        drafts,
        rider=recurring_booking.lock_riders([asked.rider_id])[asked.rider_id],
        profile=bookings.current_profile(asked.rider_id),
        owner=resources.facilities.get(owner.pk),
        resources=resources,
        at=factories.NOW,
    )


def day_of(course: RidePlan, asked: RideDraft, **also: Any) -> ServiceDay:
    return ServiceDay(course, [LegSchedule(one.pickup_at, one.appointment_at, also) for one in both_ways(asked)])


def book_set(
    asked: RideDraft, owner: Facility, by: Principal, offsets: Iterable[int] = (0,)
) -> list[tuple[UUID, ...] | Refused]:
    course = course_of(asked, owner, by)
    return recurring_booking.book_days(
        [day_of(course, later(asked, days)) for days in offsets], by=by, at=factories.NOW
    )


def booked_ids(answers: Sequence[tuple[UUID, ...] | Refused]) -> list[UUID]:
    assert not any(isinstance(one, Refused) for one in answers)
    return [ride_id for ids in answers if not isinstance(ids, Refused) for ride_id in ids]
