"""Suggested HCPCS codes for any payer, which the operator edits."""

from django.db import migrations

CODES = {
    "ambulatory": "A0100",
    "wheelchair": "A0130",
    "stretcher": "T2005",
    "bls": "A0428",
    "mileage_ambulatory": "S0215",
    "mileage_wheelchair": "S0209",
    "mileage_stretcher": "S0215",
    "mileage_bls": "A0425",
    "attendant": "T2001",
    "waiting": "T2007",
}


def suggest(apps, schema_editor):
    table = apps.get_model("exports", "SuggestedCode")
    table.objects.bulk_create(table(item=item, code=code) for item, code in CODES.items())


class Migration(migrations.Migration):
    dependencies = [("exports", "0001_initial")]

    operations = [migrations.RunPython(suggest, migrations.RunPython.noop)]
