from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("rides", "0007_expire_exceptions")]

    operations = [
        migrations.AddField(
            model_name="ride",
            name="after_the_fact",
            field=models.BooleanField(db_default=False, default=False, verbose_name="recorded after the fact"),
        ),
    ]
