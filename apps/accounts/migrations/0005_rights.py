"""The role that serves adds to the audit trail and reads it, and has no right to anything else (security.md S-47)."""

from django.db import migrations

from lib.append_only import only_for_owner


class Migration(migrations.Migration):
    dependencies = [
        ("accounts", "0004_alert"),
    ]

    operations = [
        only_for_owner("accounts_auditentry", "UPDATE", "DELETE", "TRUNCATE"),
        only_for_owner("accounts_auditseal", "UPDATE", "DELETE", "TRUNCATE"),
    ]
