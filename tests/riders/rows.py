"""Drafts of riders, and all rows that rider services write."""

import datetime as dt
from typing import Any

from apps.audit.models import AuditEntry
from apps.organizations.models import ExternalId
from apps.riders.models import AccommodationProfile, Rider, RiderFacility

DRAFT: dict[str, Any] = {"first_name": "Orla", "last_name": "Canary", "date_of_birth": dt.date(1951, 4, 2)}
MRN = {"system": "epic", "value": "MRN-771", "type": "mrn"}
HOME = {"addressLine1": "1418 N Canary Ave", "city": "Chicago", "state": "IL", "postalCode": "60622"}


def everything() -> list[Any]:
    """Return all rows that rider services write."""
    models = (Rider, RiderFacility, AccommodationProfile, ExternalId, AuditEntry)
    return [list(model._default_manager.order_by("pk").values()) for model in models]
