"""Bookings that somebody has begun: what stands in them, as far as the reader may still see it."""

import json
from collections.abc import Sequence
from typing import cast

from apps.rides.models import BookingDraft
from lib.access import Principal
from lib.ids import uuid_or_none


def latest(by: Principal) -> BookingDraft | None:
    """Give the draft that the caller kept last.  One query."""
    return BookingDraft.objects.visible_to(by).order_by("-saved_at", "-pk").first()


def own(by: Principal) -> Sequence[BookingDraft]:
    """List the caller's drafts, the latest first.  One query."""
    return list(BookingDraft.objects.visible_to(by).order_by("-saved_at", "-pk"))


def found(draft_id: str, by: Principal) -> BookingDraft | None:
    """Give a draft of the caller's own; None where there is none of this id."""
    pk = uuid_or_none(draft_id)
    return None if pk is None else BookingDraft.objects.visible_to(by).filter(pk=pk).first()


def form_data_of(draft: BookingDraft) -> dict[str, str]:
    """Give what was said: fields of the desk's form by name."""
    return cast(dict[str, str], json.loads(draft.form_data))
