from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("reporting", "0002_storage")]

    operations = [
        migrations.RenameField(model_name="rollupcheckpoint", old_name="filled_from", new_name="backfilled_from"),
    ]
