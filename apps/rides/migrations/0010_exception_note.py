from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("rides", "0009_exception_cause"),
    ]

    operations = [
        migrations.AddField(
            model_name="rideexception",
            name="note",
            field=models.CharField(blank=True, db_default="", default="", max_length=1000, verbose_name="note"),
        ),
    ]
