"""How pages are for a person.  Columns with a default of the database's own: no row is rewritten, nobody waits."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("accounts", "0008_saved_views"),
    ]

    operations = [
        migrations.AddField(
            model_name="user",
            name="compact",
            field=models.BooleanField(db_default=False, default=False, verbose_name="compact pages"),
        ),
        migrations.AddField(
            model_name="user",
            name="single_keys",
            field=models.BooleanField(db_default=True, default=True, verbose_name="single-key shortcuts"),
        ),
        migrations.AddField(
            model_name="user",
            name="twelve_hours",
            field=models.BooleanField(db_default=False, default=False, verbose_name="12-hour clock"),
        ),
    ]
