"""Who entered a paper, so that somebody else verifies it.  Unknown, and so open to everybody, of earlier ones."""

from django.db import migrations, models
from django.db.models import F, Q


class Migration(migrations.Migration):
    dependencies = [
        ("fleet", "0004_documents"),
    ]

    operations = [
        migrations.AlterField(  # words alone
            model_name="credential",
            name="type",
            field=models.CharField(
                choices=[
                    ("driver_license", "driver licence"),
                    ("exclusion_check_oig", "OIG exclusion check"),
                    ("background_check", "background check"),
                    ("mvr", "motor vehicle record"),
                    ("drug_screen", "drug screen"),
                    ("cpr_first_aid", "CPR and first aid"),
                    ("passenger_assistance", "passenger assistance (PASS, CTS)"),
                    ("hipaa_training", "HIPAA training"),
                    ("securement_training", "securement training"),
                    ("dot_physical", "DOT physical"),
                    ("defensive_driving", "defensive driving"),
                    ("tb_test", "TB test"),
                    ("registration", "registration"),
                    ("insurance", "insurance"),
                    ("inspection", "inspection"),
                    ("state_permit", "state permit"),
                ],
                max_length=20,
            ),
        ),
        migrations.AddField(
            model_name="credential",
            name="entered_by",
            field=models.CharField(blank=True, db_default="", default="", max_length=60),
        ),
        migrations.AddConstraint(
            model_name="credential",
            constraint=models.CheckConstraint(
                condition=Q(
                    ("entered_by", ""),
                    ("verified_by", ""),
                    Q(("entered_by", F("verified_by")), _negated=True),
                    _connector="OR",
                ),
                name="credential_verified_by_another",
            ),
        ),
    ]
