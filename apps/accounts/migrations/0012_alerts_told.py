"""Telling pages of alerts: they are no events, and are named on the channel `carelane_live` as events are (docs/adr/0020)."""

from django.db import migrations

# Ids and the scope it is for, as a part of the type: a channel has no rights.  Mails change alerts too, and are nobody's
# business.  Of more than forty at once whoever listens looks at everything again.
_TRIGGER = """
CREATE FUNCTION tell_of_alerts() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    told json;
BEGIN
    IF TG_OP = 'INSERT' THEN
        SELECT json_agg(json_build_array('alert', id, 'alert.' || scope, facility_id, provider_id))
        INTO told FROM changed;
    ELSE
        SELECT json_agg(json_build_array(
            'alert', changed.id, 'alert.' || changed.scope, changed.facility_id, changed.provider_id))
        INTO told
        FROM changed JOIN before ON changed.id = before.id
        WHERE (changed.resolved_at, changed.acknowledged_at)
            IS DISTINCT FROM (before.resolved_at, before.acknowledged_at);
    END IF;
    IF json_array_length(told) > 40 THEN
        PERFORM pg_notify('carelane_live', '{"resync": true}');
    ELSIF told IS NOT NULL THEN
        PERFORM pg_notify('carelane_live', json_build_object('changes', told)::text);
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER accounts_alert_told AFTER INSERT ON accounts_alert
    REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION tell_of_alerts();
CREATE TRIGGER accounts_alert_changed AFTER UPDATE ON accounts_alert
    REFERENCING OLD TABLE AS before NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION tell_of_alerts();
"""


class Migration(migrations.Migration):
    dependencies = [("accounts", "0011_alerts_of_a_provider")]

    operations = [
        migrations.RunSQL(
            _TRIGGER,
            "DROP TRIGGER accounts_alert_changed ON accounts_alert; DROP TRIGGER accounts_alert_told ON accounts_alert;"
            " DROP FUNCTION tell_of_alerts();",
        ),
    ]
