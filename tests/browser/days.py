"""Current dates by the real clock: in the evening of Chicago the UTC date is a day ahead."""

import datetime as dt
from zoneinfo import ZoneInfo

from django.conf import settings
from django.utils import timezone


def today() -> dt.date:
    """Return the current date in the operator's zone."""
    return timezone.now().astimezone(ZoneInfo(settings.OPERATOR_TIME_ZONE)).date()
