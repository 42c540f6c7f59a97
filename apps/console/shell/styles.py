"""The components of the console side by side, in each of their states: a page for developers.

It has sample texts in English and no data of the service.  Admins alone open it: the page is of no use to others, and
is in no navigation.
"""

import datetime as dt
from typing import Any, Final
from uuid import UUID

from django import forms
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from apps.console.board import labels as board_labels
from apps.console.board.map_points import LEGEND
from apps.console.kit.rights import require_scope
from apps.console.kit.svg_charts import LINE_STYLES, Chart, Series, draw, line_key, spark_line, sparkline
from apps.console.ride import labels as ride_labels
from lib.scopes import Scope

# Custom properties of static/console/tokens.css.
SIZES: Final = ("t11", "t12", "t13", "t14", "t16", "t20", "t28")
SPACES: Final = ("s4", "s8", "s12", "s16", "s24")
TONES: Final = ("brand", "ok", "warn", "bad", "info", "quiet")
_DAYS: Final = [f"Nov {number}" for number in range(2, 9)]
_VALUES: Final[tuple[list[float | None], ...]] = (
    [92.0, 94.5, None, 91.0, 96.0, 97.5, 95.0],
    [88.0, 86.5, 90.0, 92.0, 89.0, 85.0, 91.0],
)


class SampleForm(forms.Form):
    """One field of each kind; `note` has an error as soon as the form is bound."""

    name = forms.CharField(help_text="As on the ID card.")
    kind = forms.ChoiceField(choices=[("one", "One way"), ("back", "With a return trip")])
    note = forms.CharField(required=False, widget=forms.Textarea(attrs={"rows": 2}))
    date = forms.DateField(disabled=True, initial=dt.date(2026, 11, 26))
    side = forms.ChoiceField(choices=[("left", "Left"), ("right", "Right")], widget=forms.RadioSelect)
    agreed = forms.BooleanField(label="Send a text message")

    def clean_note(self) -> str:
        raise forms.ValidationError("Enter at most 200 characters.")


@require_safe
@require_scope(Scope.USERS_MANAGE)
def styles(request: HttpRequest) -> HttpResponse:
    """Show each component in each state."""
    chart = _chart()
    context: dict[str, Any] = {
        "sizes": SIZES,
        "spaces": SPACES,
        "tones": TONES,
        "badges": [
            ("Rides", [*ride_labels.STATUSES.values(), ride_labels.WILL_CALL, ride_labels.RELEASED]),
            ("Exceptions", [*ride_labels.SEVERITIES.values(), *ride_labels.EXCEPTION_STATUSES.values()]),
            ("Assignments", list(ride_labels.ASSIGNMENTS.values())),
        ],
        "states": board_labels.STATES.items(),
        "counters": [
            {"tone": tone, "url": "#counters", "count": count, "label": tone or "plain", "is_active": not tone}
            for count, tone in ((551, ""), (3, "warn"), (2, "bad"), (15, "info"))
        ],
        "form": SampleForm(prefix="plain"),
        "wrong_form": SampleForm({"wrong-name": "", "wrong-note": "x"}, prefix="wrong"),
        "cards": [_card(state, index) for index, state in enumerate(board_labels.STATES)],
        "legend": LEGEND,
        "chart": chart.data(),
        "drawings": draw(chart),
        "lines": [
            (series.name, series.style.token, line_key(series.style, ink="currentcolor")) for series in chart.series
        ],
        "spark_line": spark_line(_VALUES[0], label="By day: lowest 91 %, highest 97.5 %, latest 95 %"),
        "spark": sparkline([(9, 0), (12, 1), (0, 0), (7, 0), (3, 4)], label="5 hours: 31 delivered, 5 failed"),
    }
    return render(request, "styles.html", context)


def _card(state: str, index: int) -> dict[str, Any]:
    """Return the context of a card of the board: on time, predicted late, late, or with a critical exception."""
    late = (0, 12, 48, 0)[index % 4]
    return {
        "ride": {"pk": UUID(int=index), "version": 1},
        "board_ride": {"late": late, "is_late": late > 30},
        "state": state,
        "name": "Sample, Alex",
        "clock": "10:45",
        "mark": "wheelchair" if index % 2 else "",
        "mobility": "Wheelchair",
        "route": "Sample Hospital → Home",
        "late": f"{late} minutes late" if late else "",
        "reason": "Driver out, no driver fits: overlap (3)" if index == 1 else "",
        "ready": state == "assigned",
        "severe": index % 4 == 3,
    }


def _chart() -> Chart:
    series = [
        Series(name, style, list(values), [f"{value} %" if value else "none" for value in values])
        for name, style, values in zip(("Sample Hospital", "Sample Clinic"), LINE_STYLES, _VALUES, strict=False)
    ]
    return Chart("Pickups on time", "%", _DAYS, _DAYS, series, 100, is_line=True)
