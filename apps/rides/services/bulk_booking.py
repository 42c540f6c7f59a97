"""Many bookings in one transaction."""

from collections.abc import Sequence
from datetime import datetime

from django.db import transaction
from django.utils.translation import gettext_lazy as _

from apps.riders import services as riders
from apps.rides.rules.draft import RideDraft
from apps.rides.services import booking, legs
from apps.rides.services.booking import Booked
from lib.access import Principal
from lib.errors import Code, Detail, DomainError

MAX_BULK = 500


class TooMany(DomainError):
    """A bulk request holds more rides than one transaction should."""

    code = Code.VALIDATION_ERROR
    template = _("At most %(most)s rides at a time.")


@transaction.atomic
def book_many(
    *, drafts: Sequence[RideDraft], per_item: bool = False, by: Principal, at: datetime
) -> list[Booked | DomainError]:
    """Book up to `MAX_BULK` drafts: all or none, or with `per_item` each on its own, with its refusal in its place.

    Locks all riders it names before the first booking, by id, so that two requests with the same riders wait for each
    other in whatever order they name them.

    Raises:
        TooMany: there are more drafts.
        DomainError: not `per_item`, and one was refused as `book` refuses it; the details say which.
    """
    if len(drafts) > MAX_BULK:
        raise TooMany(most=MAX_BULK)
    _lock_riders(drafts, by)
    outcomes: list[Booked | DomainError] = []
    for position, draft in enumerate(drafts):
        try:
            with transaction.atomic():
                outcomes.append(booking.book(draft=draft, by=by, at=at))
        except DomainError as refusal:
            refusal.details = _placed(refusal, position)
            if not per_item:
                raise
            outcomes.append(refusal)
    return outcomes


def _lock_riders(drafts: Sequence[RideDraft], by: Principal) -> None:
    names = [name for draft in drafts if draft.rider for name in draft.rider.get("external_ids") or []]
    riders.lock_named([draft.rider_id for draft in drafts if draft.rider_id], names, by=by)


def _placed(refusal: DomainError, position: int) -> list[Detail]:
    """Say in every detail which ride of the request it speaks of."""
    if not refusal.details:
        return [Detail(field=f"rides[{position}]", code="refused", message=refusal.message)]
    return legs.prefixed(refusal.details, f"rides[{position}].")
