from django.contrib.postgres.operations import ValidateConstraint
from django.db import migrations


class Migration(migrations.Migration):
    """Apart from their creation: the rows that are there are read beside the service in use."""

    dependencies = [("organizations", "0005_standing_orders")]

    operations = [
        ValidateConstraint(model_name="calendarshift", name="calendar_shift_undone_was_applied"),
        ValidateConstraint(model_name="externalid", name="external_id_subject_type_known"),
    ]
