"""The last day of an endpoint as a row of bars.  SVG of the server's, without script or style."""

from collections.abc import Sequence

from django.utils import timezone
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext

from apps.webhooks.queries.health import Hour
from lib.clocks import clock

HEIGHT, WIDTH, STEP = 32, 8, 10


def sparkline(hours: Sequence[Hour]) -> SafeString:
    """Draw the attempts of each hour, the failed ones on top of those that arrived; the text says the same."""
    most = max((hour.delivered + hour.failed for hour in hours), default=0)
    bars = []
    for number, hour in enumerate(hours):
        good, failed = _height(hour.delivered, most), _height(hour.failed, most)
        bars += [("ground", number * STEP, HEIGHT - 1, 1), ("good", number * STEP, HEIGHT - good, good)]
        bars.append(("failed", number * STEP, max(0, HEIGHT - good - failed), min(failed, HEIGHT - good)))
    drawn = format_html_join(
        "", '<rect class="{}" x="{}" y="{}" width="8" height="{}"></rect>', (bar for bar in bars if bar[3])
    )
    return format_html(
        '<svg class="spark" role="img" viewBox="0 0 {} {}" preserveAspectRatio="none" aria-label="{}">{}</svg>',
        len(hours) * STEP - (STEP - WIDTH),
        HEIGHT,
        _words(hours),
        drawn,
    )


def _height(count: int, most: int) -> int:
    """Give a bar at least two units, so that one failure among thousands is seen."""
    return max(2, round(count * (HEIGHT - 2) / most)) if count else 0


def _words(hours: Sequence[Hour]) -> str:
    delivered, failed = sum(hour.delivered for hour in hours), sum(hour.failed for hour in hours)
    if not delivered + failed:
        return gettext("No attempts in the last 24 hours")
    told = gettext("Attempts of the last 24 hours: %(delivered)s delivered, %(failed)s failed") % {
        "delivered": delivered,
        "failed": failed,
    }
    if not failed:
        return told
    worst = max(hours, key=lambda hour: hour.failed)
    return told + gettext("; most failures in the hour from %(clock)s") % {"clock": clock(timezone.localtime(worst.at))}
