"""The last day of an endpoint as a row of small columns, one for each hour."""

from collections.abc import Sequence

from django.utils import timezone
from django.utils.safestring import SafeString
from django.utils.translation import gettext

from apps.console.kit import svg_charts
from apps.webhooks.queries.health import Hour
from lib.clocks import clock


def sparkline(hours: Sequence[Hour]) -> SafeString:
    """Draw the attempts of each hour, failed above delivered; the label has the totals for screen readers."""
    return svg_charts.sparkline([(hour.delivered, hour.failed) for hour in hours], label=_label(hours))


def _label(hours: Sequence[Hour]) -> str:
    delivered, failed = sum(hour.delivered for hour in hours), sum(hour.failed for hour in hours)
    if not delivered + failed:
        return gettext("No attempts in the last 24 hours")
    label = gettext("Attempts of the last 24 hours: %(delivered)s delivered, %(failed)s failed") % {
        "delivered": delivered,
        "failed": failed,
    }
    if not failed:
        return label
    worst = max(hours, key=lambda hour: hour.failed)
    return label + gettext("; most failures in the hour from %(clock)s") % {
        "clock": clock(timezone.localtime(worst.at))
    }
