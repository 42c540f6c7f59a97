from django.db import migrations, models


class Migration(migrations.Migration):
    """Allows one more reason in a table that holds the codes of the operator, and so a few rows."""

    dependencies = [
        ("rides", "0002_next_check_at"),
    ]

    operations = [
        migrations.RemoveConstraint(
            model_name="reasoncode",
            name="reason_code_parent_known",
        ),
        migrations.AddConstraint(
            model_name="reasoncode",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(
                        (
                            "parent_code__in",
                            (
                                "rider_request",
                                "rider_other_transport",
                                "rider_refused_at_door",
                                "rider_ill",
                                "rider_hospitalized",
                                "rider_deceased",
                                "appointment_cancelled",
                                "appointment_moved",
                                "treatment_changed",
                                "discharge_cancelled",
                                "level_of_care_changed",
                                "facility_closed",
                                "standing_order_hold",
                                "standing_order_ended",
                                "calendar_shift",
                                "will_call_not_used",
                                "authorization_denied",
                                "eligibility_lapsed",
                                "weather",
                                "duplicate",
                                "booking_error",
                                "other",
                            ),
                        ),
                        ("reason_list", "cancelled"),
                    ),
                    models.Q(
                        (
                            "parent_code__in",
                            (
                                "no_driver_available",
                                "no_suitable_vehicle",
                                "given_back_late",
                                "driver_no_call_no_show",
                                "vehicle_breakdown",
                                "accident",
                                "late_rider_left",
                                "late_appointment_lost",
                                "wrong_vehicle_sent",
                                "driver_refused",
                                "outside_service_area",
                                "outside_service_hours",
                                "insufficient_notice",
                                "authorization_missing",
                                "weather_suspension",
                                "aborted_medical_emergency",
                                "aborted_safety",
                                "returned_to_origin",
                                "other",
                            ),
                        ),
                        ("reason_list", "unfulfilled"),
                    ),
                    models.Q(
                        (
                            "parent_code__in",
                            (
                                "rider_not_at_pickup",
                                "rider_unreachable",
                                "rider_already_left",
                                "not_ready_wait_exceeded",
                                "not_found_at_facility",
                                "bad_pickup_details",
                            ),
                        ),
                        ("reason_list", "no_show"),
                    ),
                    models.Q(
                        (
                            "parent_code__in",
                            (
                                "driver_declined",
                                "driver_released",
                                "driver_suspended",
                                "driver_ill",
                                "driver_absent",
                                "running_late",
                                "vehicle_breakdown",
                                "accident",
                                "accommodation_mismatch",
                                "credential_lapsed",
                                "replanned",
                                "booking_error",
                                "other",
                            ),
                        ),
                        ("reason_list", "unassign"),
                    ),
                    _connector="OR",
                ),
                name="reason_code_parent_known",
            ),
        ),
    ]
