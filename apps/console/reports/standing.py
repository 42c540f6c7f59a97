"""How far the figures of a page are, and what of them was told otherwise when its day was closed."""

from collections.abc import Sequence
from typing import Any

from apps.reporting.queries.reading import Progress
from apps.reporting.queries.restatements import Restated
from apps.reporting.queries.selection import Selection
from apps.reporting.rules.measure_words import WORDS
from lib.retelling import retold


def standing(selection: Selection, restatements: Sequence[Restated], progress: Progress) -> dict[str, Any]:
    """Give templates the period, how far the figures are, and what was restated, its measures in words."""
    return {
        "selection": selection,
        "progress": progress,
        "restatements": [
            {
                "day": one.service_date,
                "at": one.at,
                "changes": [(retold(WORDS[each.measure]), each.closed, each.current) for each in one.changes],
            }
            for one in restatements
        ],
        "restated_rides": len({ride for one in restatements for ride in one.ride_ids}),
    }
