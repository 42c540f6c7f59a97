from django.contrib.postgres.operations import ValidateConstraint
from django.db import migrations


class Migration(migrations.Migration):
    """Apart from their creation: the rows that are there are read beside the service in use."""

    dependencies = [("rides", "0008_exception_of_standing_order")]

    operations = [
        ValidateConstraint(model_name="rideexception", name="exception_of_ride_or_order"),
        ValidateConstraint(model_name="rideexception", name="exception_type_known"),
    ]
