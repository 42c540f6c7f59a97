"""Telling pages at once: what is recorded is named on the channel `carelane_live` when it is committed."""

from django.db import migrations

# By statement, not by row, and so by COPY too.  Ids alone, because a channel has no rights (console.md P6).  An event
# takes up to 190 bytes and a message has to stay below 8,000: forty in each.  Of a set of more than two hundred nobody
# wants to hear one by one: whoever listens looks at everything again.
_TRIGGER = """
CREATE FUNCTION tell_of_events() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF (SELECT count(*) FROM (SELECT FROM recorded LIMIT 201) few) > 200 THEN
        PERFORM pg_notify('carelane_live', '{"resync": true}');
        RETURN NULL;
    END IF;
    PERFORM pg_notify('carelane_live', json_build_object('changes',
        json_agg(json_build_array(subject_type, subject_id, type, facility_id, provider_id)))::text)
    FROM (SELECT *, (row_number() OVER () - 1) / 40 AS portion FROM recorded) numbered
    GROUP BY portion ORDER BY portion;
    RETURN NULL;
END $$;
CREATE TRIGGER events_event_told AFTER INSERT ON events_event
    REFERENCING NEW TABLE AS recorded FOR EACH STATEMENT EXECUTE FUNCTION tell_of_events();
"""


class Migration(migrations.Migration):
    dependencies = [
        ("events", "0004_rights"),
    ]

    operations = [
        migrations.RunSQL(
            _TRIGGER,
            "DROP TRIGGER events_event_told ON events_event; DROP FUNCTION tell_of_events();",
        ),
    ]
