"""Whoever has not chosen a clock follows the organization's.  Who has 24 hours had them without choosing, most likely.

The organization's clock is of 24 hours until somebody sets another, so nobody sees another one by this.  A release before
this one reads nothing as 24 hours.
"""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("accounts", "0013_language"),
    ]

    operations = [
        migrations.AlterField(
            model_name="user",
            name="twelve_hours",
            field=models.BooleanField(null=True, verbose_name="12-hour clock"),
        ),
        migrations.RunSQL(
            "UPDATE accounts_user SET twelve_hours = NULL WHERE NOT twelve_hours",
            "UPDATE accounts_user SET twelve_hours = false WHERE twelve_hours IS NULL",
        ),
    ]
