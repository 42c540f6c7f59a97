from django.contrib.postgres.operations import ValidateConstraint
from django.db import migrations


class Migration(migrations.Migration):
    """Apart from their creation: the rows that are there are read beside the service in use."""

    dependencies = [("rides", "0003_more_constraints")]

    operations = [
        ValidateConstraint(model_name="assignment", name="assignment_offer_has_deadline"),
        ValidateConstraint(model_name="milestone", name="milestone_contacted_known"),
        ValidateConstraint(model_name="milestone", name="milestone_place_whole"),
        ValidateConstraint(model_name="reasoncode", name="reason_code_parent_known"),
        ValidateConstraint(model_name="ride", name="ride_status_before_end_known"),
        ValidateConstraint(model_name="ride", name="ride_occurrence_state_known"),
        ValidateConstraint(model_name="ride", name="ride_to_dialysis_has_chair_time"),
        ValidateConstraint(model_name="rideexception", name="exception_resolution_code_known"),
    ]
