"""Drafts of bookings of the caller."""

import json
from collections.abc import Sequence
from typing import cast

from apps.rides.models import BookingDraft
from lib.access import Principal
from lib.ids import uuid_or_none


def latest(by: Principal) -> BookingDraft | None:
    """Return the caller's latest draft.  One query."""
    return BookingDraft.objects.visible_to(by).order_by("-saved_at", "-pk").first()


def own(by: Principal) -> Sequence[BookingDraft]:
    """List the caller's drafts, latest first.  One query."""
    return list(BookingDraft.objects.visible_to(by).order_by("-saved_at", "-pk"))


def by_id(draft_id: str, by: Principal) -> BookingDraft | None:
    """Return a draft of the caller; None if there is none with this id."""
    pk = uuid_or_none(draft_id)
    return None if pk is None else BookingDraft.objects.visible_to(by).filter(pk=pk).first()


def form_data_of(draft: BookingDraft) -> dict[str, str]:
    """Return the form data by field name."""
    return cast(dict[str, str], json.loads(draft.form_data))
