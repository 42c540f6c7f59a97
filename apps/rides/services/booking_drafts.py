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
MAX_DRAFTS: Final = 50  # per user; the oldest are deleted


@transaction.atomic
def save(*, key: UUID, form_data: Mapping[str, str], by: Principal, at: datetime) -> BookingDraft | None:
    """Save a form under a key, replacing an earlier draft; None if its ride is already booked.

    The page saves the form while the user types, so that a save may arrive after the booking.  Only the first save of
    a draft is audited.

    Raises:
        ScopeMissing, BoundToProviders: the caller may not book.
    """
    booking.require_right(by)
    _lock_user(by)
    if Ride.objects.filter(pk=key).exists():
        return None
    existing = BookingDraft.objects.visible_to(by).filter(key=key).first()
    draft = existing or BookingDraft(user_id=cast(UUID, by.id), key=key, created_at=at)
    draft.form_data, draft.saved_at = json.dumps(dict(form_data)), at
    draft.save()
    if existing is None:
        drafts = BookingDraft.objects.visible_to(by).order_by("-saved_at", "-pk")
        BookingDraft.objects.filter(pk__in=list(drafts.values_list("pk", flat=True)[MAX_DRAFTS:])).delete()
        _audit("rides.draft", draft, by)
    return draft


@transaction.atomic
def book(*, draft: RideDraft, key: UUID, by: Principal, at: datetime) -> booking.Booked:
    """Book as `booking.book` does, with its errors, and delete the draft of this key."""
    _lock_user(by)
    booked = booking.book(draft=draft, ride_id=key, by=by, at=at)
    BookingDraft.objects.visible_to(by).filter(key=key).delete()
    return booked


@transaction.atomic
def discard(*, draft_id: UUID, by: Principal) -> bool:
    """Delete a draft of the caller; False if there is none."""
    draft = BookingDraft.objects.visible_to(by).filter(pk=draft_id).first()
    if draft is None:
        return False
    BookingDraft.objects.filter(pk=draft.pk).delete()
    _audit("rides.draft_discard", draft, by)
    return True


def purge(*, at: datetime) -> int:
    """Delete drafts without changes for `RETENTION`, and return their number."""
    return BookingDraft.objects.filter(saved_at__lt=at - RETENTION).delete()[0]


def _lock_user(by: Principal) -> None:
    """Serialize saving and booking of a user by a lock on their row, before riders and rides."""
    list(User.objects.select_for_update(no_key=True).filter(pk=cast(UUID, by.id)).values_list("pk"))


def _audit(action: str, draft: BookingDraft, by: Principal) -> None:
    audit.record(by=by, action=action, subject_type="booking_draft", subject_id=draft.pk)
