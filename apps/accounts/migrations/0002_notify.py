"""The trigger that notifies live pages of alerts."""

from django.db import migrations

# Ids and the scope of the alert, as a part of the type: every session may listen on the channel.  A change that only
# records a mail is not notified.  For more than forty alerts at once, listeners reload what they show.
_NOTIFY = """
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
    dependencies = [("accounts", "0001_initial")]

    operations = [
        migrations.RunSQL(_NOTIFY),
    ]
