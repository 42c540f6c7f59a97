"""Reason codes for selection."""

from apps.rides.labels import reason_label
from apps.rides.models import ReasonCode
from apps.rides.rules.lifecycle import ReasonList
from apps.rides.rules.reasons import CODES


def offered(reasons: ReasonList) -> list[tuple[str, str]]:
    """List codes and labels: built-in ones, and the operator's own before `other`.  One query."""
    built_in = [(code, reason_label(code)) for code in CODES[reasons]]
    rows = ReasonCode.objects.filter(reason_list=reasons.value, active=True).order_by("label")
    added = [(row.code, row.label) for row in rows]
    return [row for row in built_in if row[0] != "other"] + added + [row for row in built_in if row[0] == "other"]
