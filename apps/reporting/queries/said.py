"""How figures are written, wherever people read them: the value in its unit, and what it is made of."""

from typing import Final

from django.utils.formats import number_format
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from apps.reporting.queries.figures import Figure
from apps.reporting.rules.defining import Definition, Unit
from lib.retelling import retold

DASH: Final = "\N{EN DASH}"
# Those that a service is judged by come first; the others stand below.
MAIN: Final = {
    "pickupOnTimeRate": gettext_lazy("Pickups on time"),
    "appointmentOnTimeRate": gettext_lazy("Appointments on time"),
    "completionRate": gettext_lazy("Completion"),
    "fulfillmentRate": gettext_lazy("Fulfillment"),
    "noShowRate": gettext_lazy("No-shows"),
    "lateCancelRate": gettext_lazy("Late cancellations"),
    "willCallResponse": gettext_lazy("Will-call, median"),
    "dischargeReadyToDepart": gettext_lazy("Discharge, median"),
}


def title_of(definition: Definition) -> str:
    """Say a title, some of which are made of two phrases."""
    said = retold(definition.title)
    if said != definition.title or ", " not in said:
        return said
    return ", ".join(map(retold, definition.title.split(", ")))


def value_said(definition: Definition, value: float | None, *, short: bool = False) -> str:
    """Write a value in its unit, a dash where there is none; `short` for where there is little room."""
    if value is None:
        return DASH
    match definition.unit:
        case Unit.SHARE:
            return f"{_rounded(100 * value, 0 if short else 1)} %"
        case Unit.MINUTES:
            text = _rounded(value, 0 if short or value == int(value) else 1)
            return text if short else f"{text} min"
    return _rounded(value, 2)


def _rounded(value: float, digits: int) -> str:
    """Write a number; Django's formats cut digits off, and 89.97 would be 89.9."""
    return number_format(round(value, digits), digits, force_grouping=True)


def count_said(count: int) -> str:
    return number_format(count, force_grouping=True)


def share_said(share: float | None) -> str:
    return DASH if share is None else f"{_rounded(100 * share, 1)} %"


def duration_said(minutes: int) -> str:
    """Write minutes as hours and minutes."""
    hours, rest = divmod(minutes, 60)
    return _("%(hours)s h %(minutes)02d min") % {"hours": count_said(hours), "minutes": rest}


def miles_said(miles: float) -> str:
    return f"{_rounded(miles, 1)} mi"


def parts_said(figure: Figure) -> str:
    """Say what a figure is made of."""
    if figure.suppressed:
        return _("Too few rides to show")
    if not figure.denominator:
        return _("Nothing to count")
    if figure.numerator is None:
        return _("of %(count)s values") % {"count": count_said(figure.denominator)}
    counts = {"numerator": count_said(figure.numerator), "denominator": count_said(figure.denominator)}
    return _("%(numerator)s of %(denominator)s") % counts


def said(figure: Figure) -> str:
    """Say a value and what it is made of."""
    return f"{value_said(figure.definition, figure.value)}, {parts_said(figure)}"
