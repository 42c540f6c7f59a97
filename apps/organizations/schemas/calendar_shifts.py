"""Output serializer of calendar shifts of a facility."""

from apps.organizations.models import CalendarShift
from lib.api.serializers import Out


class CalendarShiftOut(Out):
    """A day that moves in a holiday week; `toDate` null means no service that day.

    It applies to rides from `appliedAt` until `undoneAt`.
    """

    class Meta:
        model = CalendarShift
        fields = (
            "id",
            "from_date",
            "to_date",
            "new_chair_time",
            "offset_minutes",
            "applies_to",
            "standing_order_ids",
            "applied_at",
            "undone_at",
        )
