"""The database refuses every change of the trail but inserts, to everybody but the owner of the tables."""

from django.db import migrations

from lib.append_only import append_only, only_for_owner


class Migration(migrations.Migration):
    dependencies = [("audit", "0001_initial")]

    operations = [
        append_only("audit_auditentry"),
        append_only("audit_auditseal"),
        only_for_owner("audit_auditentry", "UPDATE", "DELETE", "TRUNCATE"),
        only_for_owner("audit_auditseal", "UPDATE", "DELETE", "TRUNCATE"),
    ]
