"""Signing the desk off to the next dispatcher."""

from datetime import datetime

from django.db import transaction

from apps.audit.services import audit
from apps.dispatch.models import Handover
from lib.access import Principal


@transaction.atomic
def sign_off(*, note: str, by: Principal, at: datetime) -> Handover:
    """Record that the caller hands the desk over, with a note to the next dispatcher."""
    handover = Handover.objects.create(note=note.strip(), signed_at=at, signed_by=by.actor)
    audit.record(by=by, action="dispatch.hand_over", subject_type="handover", subject_id=handover.pk)
    return handover
