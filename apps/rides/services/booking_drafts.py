"""Drafts of bookings, stored for their author until the ride is booked or for a week."""

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

RETENTION: Final = timedelta(days=7)
MOST: Final = 50  # per user; the oldest are deleted


@transaction.atomic
def keep(*, key: UUID, form_data: Mapping[str, str], by: Principal, at: datetime) -> BookingDraft | None:
    """Save a form under a key, replacing an earlier draft; None if its ride is already booked.

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
    """Book as `booking.book` does, with its errors, and delete the draft of this key."""
    _one_at_a_time(by)
    booked = booking.book(draft=draft, ride_id=key, by=by, at=at)
    BookingDraft.objects.visible_to(by).filter(key=key).delete()
    return booked


@transaction.atomic
def discard(*, draft_id: UUID, by: Principal) -> bool:
    """Delete a draft of the caller; False if there is none."""
    found = BookingDraft.objects.visible_to(by).filter(pk=draft_id).first()
    if found is None:
        return False
    BookingDraft.objects.filter(pk=found.pk).delete()
    _audit("rides.draft_discard", found, by)
    return True


def purge(*, at: datetime) -> int:
    """Delete drafts without changes for `RETENTION`, and return their number."""
    return BookingDraft.objects.filter(saved_at__lt=at - RETENTION).delete()[0]


def _one_at_a_time(by: Principal) -> None:
    """Serialize saving and booking of a user by a lock on their row, before riders and rides."""
    list(User.objects.select_for_update(no_key=True).filter(pk=cast(UUID, by.id)).values_list("pk"))


def _audit(action: str, draft: BookingDraft, by: Principal) -> None:
    audit.record(by=by, action=action, subject_type="booking_draft", subject_id=draft.pk)
