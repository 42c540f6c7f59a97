"""The range type over UUIDs: exclusion constraints of shifts compare ids by it."""

from django.db import migrations


class Migration(migrations.Migration):
    initial = True

    dependencies: list[tuple[str, str]] = []

    operations = [migrations.RunSQL("CREATE TYPE uuidrange AS RANGE (subtype = uuid)", "DROP TYPE uuidrange")]
