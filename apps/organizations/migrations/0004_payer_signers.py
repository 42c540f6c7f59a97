from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("organizations", "0003_words"),
    ]

    operations = [
        # A service of the version before inserts payers without the column: the database says what it holds.
        migrations.AddField(
            model_name="payer",
            name="signers",
            field=models.CharField(
                choices=[("any", "Any"), ("rider", "Rider"), ("driver", "Driver"), ("both", "Both")],
                db_default="any",
                default="any",
                max_length=6,
            ),
        ),
        migrations.AddConstraint(
            model_name="payer",
            constraint=models.CheckConstraint(
                condition=models.Q(("signers__in", ["any", "rider", "driver", "both"])),
                name="payer_signers_known",
            ),
        ),
    ]
