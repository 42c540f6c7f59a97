"""Bookings that are begun and not made: kept for whoever writes them until the ride is booked, or a week has passed."""

import json
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Final, cast
from uuid import UUID

from django.db import transaction

from apps.accounts.models import User
from apps.audit.services import audit
from apps.rides.models import BookingDraft, Ride
from apps.rides.rules.draft import RideDraft
from apps.rides.services import booking
from lib.access import Principal

KEPT_FOR: Final = timedelta(days=7)
MOST: Final = 50  # of one person; the oldest give way to new ones


@transaction.atomic
def keep(*, key: UUID, form_data: Mapping[str, str], by: Principal, at: datetime) -> BookingDraft | None:
    """Keep a form as it stands, in place of what was kept under this key; None where its ride is booked by now.

    A form keeps itself while somebody types, so that it may arrive after it was sent: a ride that is booked has no
    draft.  The trail tells that a draft was begun, not of every word.

    Raises:
        ScopeMissing, BoundToProviders: the caller may not book.
    """
    booking.require_right(by)
    _one_at_a_time(by)
    if Ride.objects.filter(pk=key).exists():
        return None
    found = BookingDraft.objects.visible_to(by).filter(key=key).first()
    draft = found or BookingDraft(user_id=cast(UUID, by.id), key=key, created_at=at)
    draft.form_data, draft.saved_at = json.dumps(dict(form_data)), at
    draft.save()
    if found is None:
        mine = BookingDraft.objects.visible_to(by).order_by("-saved_at", "-pk")
        BookingDraft.objects.filter(pk__in=list(mine.values_list("pk", flat=True)[MOST:])).delete()
        _audit("rides.draft", draft, by)
    return draft


@transaction.atomic
def book(*, draft: RideDraft, key: UUID, by: Principal, at: datetime) -> booking.Booked:
    """Book as `booking.book` does, which says what it raises; what was kept under this key goes with it."""
    _one_at_a_time(by)
    booked = booking.book(draft=draft, ride_id=key, by=by, at=at)
    BookingDraft.objects.visible_to(by).filter(key=key).delete()
    return booked


@transaction.atomic
def discard(*, draft_id: UUID, by: Principal) -> bool:
    """Throw a draft of the caller's own away; False where there is none."""
    found = BookingDraft.objects.visible_to(by).filter(pk=draft_id).first()
    if found is None:
        return False
    BookingDraft.objects.filter(pk=found.pk).delete()
    _audit("rides.draft_discard", found, by)
    return True


def purge(*, at: datetime) -> int:
    """Delete what nobody has gone on with for `KEPT_FOR`; answer how many."""
    return BookingDraft.objects.filter(saved_at__lt=at - KEPT_FOR).delete()[0]


def _one_at_a_time(by: Principal) -> None:
    """Let one person keep and book one after the other: a lock on their own row, before those of riders and rides."""
    list(User.objects.select_for_update(no_key=True).filter(pk=cast(UUID, by.id)).values_list("pk"))


def _audit(action: str, draft: BookingDraft, by: Principal) -> None:
    audit.record(by=by, action=action, subject_type="booking_draft", subject_id=draft.pk)
