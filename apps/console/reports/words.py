"""How pages and files write figures: the value in its unit, what it is made of, and how it is counted."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from django.urls import reverse
from django.utils.functional import Promise
from django.utils.text import capfirst
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from apps.console.ride import words as ride_words
from apps.reporting.queries.behind import Count
from apps.reporting.queries.figures import Figure
from apps.reporting.queries.said import (
    DASH,
    count_said,
    duration_said,
    miles_said,
    parts_said,
    said,
    share_said,
    title_of,
    value_said,
)
from apps.reporting.rules.defining import REASONS, Definition, Unit, Way
from apps.rides.next_steps import ADVICE
from apps.rides.reason_words import Reason
from apps.rides.rules.reasons import Fault
from lib.listing import spelled
from lib.retelling import retold

__all__ = [
    "DASH",
    "UNITS",
    "Address",
    "cell_heads",
    "cells",
    "count_said",
    "count_words",
    "counted",
    "duration_said",
    "miles_said",
    "parts_said",
    "said",
    "share_said",
    "shown",
    "title_of",
    "value_said",
]

UNITS: Final[Mapping[Unit, str | Promise]] = {
    Unit.SHARE: gettext_lazy("Share"),
    Unit.MINUTES: gettext_lazy("Minutes"),
    Unit.RATIO: gettext_lazy("Ratio"),
    Unit.PER_100: gettext_lazy("On 100 rides"),
    Unit.PER_1000: gettext_lazy("On 1,000 rides"),
}


@dataclass(frozen=True, slots=True)
class Address:
    """Where the rides behind a figure are: the filter of the page, and what differs from it."""

    asked: Mapping[str, str]

    def rides(self, definition: Definition, counted: str, **changes: object) -> str:
        values = {**self.asked, "counted": counted, **changes}
        return f"{reverse('report_rides', args=[definition.key])}?{spelled(values)}"

    def count(self, count: Count, amount: int | None) -> str:
        """Give where the rides of a count are; "" of nothing, and of what is not shown."""
        if not amount:
            return ""
        values = {**self.asked, "what": count.what, "word": count.word, "code": count.code}
        return f"{reverse('report_counted_rides')}?{spelled(values)}"


def shown(figure: Figure, address: Address | None, **changes: object) -> dict[str, Any]:
    """Give templates a figure; `address` None where no page lists the rides behind it."""
    definition = figure.definition
    opens = address is not None and bool(figure.denominator)
    return {
        "figure": figure,
        "title": title_of(definition),
        "value": value_said(definition, figure.value),
        "of": parts_said(figure),
        "url": address.rides(definition, "denominator", **changes) if address and opens else "",
        "counts_url": address.rides(definition, "numerator", **changes) if address and opens else "",
        "page": reverse("report_figure", args=[definition.key]),
    }


def counted(figure: Figure, address: Address) -> dict[str, Any]:
    """Say how a figure is counted, with what it leaves out and the shares beside it."""
    definition = figure.definition
    is_quantile = definition.way is Way.QUANTILE
    return {
        "question": retold(definition.question),
        "population": retold(definition.population),
        "counted": retold(definition.counted),
        "numerator": None if figure.numerator is None else count_said(figure.numerator),
        "denominator": None if figure.denominator is None else count_said(figure.denominator),
        "is_quantile": is_quantile,
        "excluded": [
            (
                retold(REASONS[reason]),
                _("Too few rides to show") if count is None else count_said(count),
                address.rides(definition, "excluded", reason=reason) if count else "",
            )
            for reason, count in figure.excluded.items()
        ],
        "parts": [
            (
                retold(definition.parts[name].title),
                value_said(definition, part.value),
                parts_said(part),
                address.rides(definition, "denominator", part=name) if part.denominator else "",
            )
            for name, part in figure.parts.items()
        ],
        "version": definition.version,
        "unit": UNITS[definition.unit],
    }


def cells(figure: Figure | None) -> list[object]:
    """Write a figure into a file: value, numerator and denominator as the API gives them; None: there are no rides."""
    if figure is None:
        return ["", "", ""]
    if figure.suppressed:
        return [_("Too few rides to show"), "", ""]
    return ["" if one is None else one for one in (figure.value, figure.numerator, figure.denominator)]


def cell_heads(definition: Definition, *, of: str = "") -> list[str]:
    """Head the columns of `cells`; `of` names whose figure it is, where that is not all of them."""
    title = f"{of}: {title_of(definition)}" if of else title_of(definition)
    return [title, f"{title}, {_('numerator')}", f"{title}, {_('denominator')}"]


def left_out(figure: Figure) -> list[object]:
    """Write what a figure leaves out into a file, a column for each reason; what is hidden says so."""
    return [_("Too few rides to show") if count is None else count for count in figure.excluded.values()]


def left_out_heads(definition: Definition) -> list[str]:
    title = title_of(definition)
    return [
        _("%(title)s, left out: %(reason)s") % {"title": title, "reason": retold(REASONS[one])}
        for one in definition.excluded
    ]


def count_words(count: Count) -> tuple[str, str]:
    """Say what a count is of: the status or severity, and the reason, fault or type ("" of a status)."""
    if count.what == "exception_type":
        word, code = (
            ride_words.SEVERITIES[count.word].text,
            ADVICE[count.code].title if count.code in ADVICE else count.code,
        )
    else:
        word = ride_words.STATUSES[count.word].text
        labels = Fault if count.what == "fault" else Reason
        # A reason of the operator's own that is gone has no built-in one that it counts as.
        code = labels(count.code).label if count.code in labels else count.code
    return str(word), str(capfirst(str(code)))
