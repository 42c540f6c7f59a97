"""What the database itself does with events: it keeps them unaltered, fills the outbox, and notifies live pages."""

from django.db import migrations

from lib.append_only import append_only, only_for_owner

# Events that are no ride's history may be deleted after a day; every other change is refused.
_RETENTION = """
CREATE FUNCTION refuse_to_alter_events() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'DELETE' AND OLD.subject_type <> 'ride' AND OLD.recorded_at < now() - interval '1 day' THEN
        RETURN OLD;
    END IF;
    RAISE EXCEPTION '% is append-only: % refused', TG_TABLE_NAME, TG_OP USING ERRCODE = 'insufficient_privilege';
END $$;
DROP TRIGGER events_event_append_only ON events_event;
CREATE TRIGGER events_event_append_only BEFORE UPDATE OR DELETE ON events_event
    FOR EACH ROW EXECUTE FUNCTION refuse_to_alter_events();
"""
# By statement, not by row: a thousand events of one statement cost one more insert.
_OUTBOX = """
CREATE FUNCTION fill_event_outbox() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO events_outboxentry (event_id) SELECT id FROM recorded ORDER BY subject_id, sequence;
    RETURN NULL;
END $$;
CREATE TRIGGER events_event_outbox AFTER INSERT ON events_event
    REFERENCING NEW TABLE AS recorded FOR EACH STATEMENT EXECUTE FUNCTION fill_event_outbox();
"""
# By statement, not by row, and so by COPY too.  Ids alone, because every session may listen on the channel.  An event
# takes up to 190 bytes and a message has to stay below 8,000: forty in each.  For more than two hundred events at once,
# listeners reload what they show.
_NOTIFY = """
CREATE FUNCTION notify_event() RETURNS trigger LANGUAGE plpgsql AS $$
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
CREATE TRIGGER events_event_notify AFTER INSERT ON events_event
    REFERENCING NEW TABLE AS recorded FOR EACH STATEMENT EXECUTE FUNCTION notify_event();
"""


class Migration(migrations.Migration):
    dependencies = [("events", "0001_initial")]

    operations = [
        append_only("events_event"),
        migrations.RunSQL(_RETENTION),
        migrations.RunSQL(_OUTBOX),
        migrations.RunSQL(
            # Emptied as fast as it is filled: vacuum it early, or its index grows.
            "ALTER TABLE events_outboxentry SET (autovacuum_vacuum_scale_factor = 0.01,"
            " autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_cost_delay = 0)"
        ),
        migrations.RunSQL(_NOTIFY),
        only_for_owner("events_event", "UPDATE", "TRUNCATE"),
    ]
