"""Views that are shared.  The default is the database's own: no row is rewritten, and an older release goes on saving.

The table holds some rows a person: that all of them keep the rule is seen within the moment of the lock.
"""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("accounts", "0016_list_looks"),
    ]

    operations = [
        migrations.AddField(
            model_name="savedview",
            name="shared_with",
            field=models.CharField(
                blank=True,
                choices=[
                    ("", "nobody"),
                    ("role", "everybody of the owner's role"),
                    ("all", "everybody who sees the list"),
                ],
                db_default="",
                default="",
                max_length=8,
            ),
        ),
        migrations.AddConstraint(
            model_name="savedview",
            constraint=models.CheckConstraint(
                condition=models.Q(("shared_with__in", ["", "role", "all"])), name="saved_view_shared_known"
            ),
        ),
    ]
