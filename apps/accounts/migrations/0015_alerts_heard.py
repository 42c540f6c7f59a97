"""How a new alert makes itself known.  The default is the database's own, as of the other preferences."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("accounts", "0014_clock_of_the_organization"),
    ]

    operations = [
        migrations.AddField(
            model_name="user",
            name="alert_notices",
            field=models.BooleanField(db_default=False, default=False, verbose_name="browser notifications"),
        ),
        migrations.AddField(
            model_name="user",
            name="alert_sound",
            field=models.BooleanField(db_default=False, default=False, verbose_name="sound for alerts"),
        ),
    ]
