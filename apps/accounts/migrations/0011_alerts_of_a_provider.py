import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("accounts", "0010_alerts_by_key"),
        ("organizations", "0007_external_id_by_value"),
    ]

    operations = [
        migrations.AddField(
            model_name="alert",
            name="provider",
            field=models.ForeignKey(
                blank=True,
                null=True,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="+",
                to="organizations.transportprovider",
            ),
        ),
    ]
