"""Days of people, by the real clock: in the evening of Chicago UTC is a day ahead."""

import datetime as dt
from zoneinfo import ZoneInfo

from django.conf import settings
from django.utils import timezone


def today() -> dt.date:
    """Give the operator's day."""
    return timezone.now().astimezone(ZoneInfo(settings.OPERATOR_TIME_ZONE)).date()
