import django.db.models.deletion
from django.contrib.postgres.operations import AddConstraintNotValid
from django.db import migrations, models

_TYPES = [
    "unconfirmed_request",
    "unassigned_at_risk",
    "no_driver_available",
    "assignment_declined",
    "driver_released_late",
    "late_pickup_predicted",
    "late_pickup",
    "late_to_appointment",
    "will_call_overdue",
    "will_call_unactivated",
    "rider_stranded_risk",
    "rider_not_ready",
    "discharge_slipped",
    "return_leg_at_risk",
    "rider_no_show",
    "ride_unfulfilled",
    "accommodation_mismatch",
    "address_problem",
    "credential_lapse",
    "vehicle_breakdown",
    "accident",
    "safety_incident",
    "medical_emergency",
    "excessive_wait",
    "excessive_ride_time",
    "milestone_gap",
    "missing_documentation",
    "duplicate_ride",
    "standing_order_conflict",
    "standing_order_review",
    "authorization_ending",
    "hold_review",
    "holiday_undecided",
    "rider_hospitalized_suspected",
]


class Migration(migrations.Migration):
    dependencies = [("rides", "0007_ride_of_standing_order")]

    operations = [
        migrations.AlterField(
            model_name="rideexception",
            name="ride",
            field=models.ForeignKey(
                blank=True,
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="exceptions",
                to="rides.ride",
            ),
        ),
        migrations.AddField(
            model_name="rideexception",
            name="standing_order_id",
            field=models.UUIDField(blank=True, null=True),
        ),
        migrations.AlterField(
            model_name="rideexception",
            name="type",
            field=models.CharField(choices=[(name, name.replace("_", " ").title()) for name in _TYPES], max_length=28),
        ),
        AddConstraintNotValid(
            model_name="rideexception",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("ride__isnull", False), ("standing_order_id__isnull", True)),
                    models.Q(("ride__isnull", True), ("standing_order_id__isnull", False)),
                    _connector="OR",
                ),
                name="exception_of_ride_or_order",
            ),
        ),
        migrations.RemoveConstraint(model_name="rideexception", name="exception_type_known"),
        AddConstraintNotValid(
            model_name="rideexception",
            constraint=models.CheckConstraint(condition=models.Q(("type__in", _TYPES)), name="exception_type_known"),
        ),
    ]
