"""Events that are no ride's history may be forgotten after a day; everything else stays as it was written."""

from django.db import migrations, models

_ALLOW = """
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
_REFUSE = """
DROP TRIGGER events_event_append_only ON events_event;
CREATE TRIGGER events_event_append_only BEFORE UPDATE OR DELETE ON events_event
    FOR EACH ROW EXECUTE FUNCTION refuse_to_alter_history();
DROP FUNCTION refuse_to_alter_events();
"""


class Migration(migrations.Migration):
    dependencies = [
        ("events", "0002_unpublished"),
    ]

    operations = [
        migrations.RunSQL(_ALLOW, _REFUSE),
        migrations.AddIndex(
            model_name="event",
            index=models.Index(
                condition=models.Q(("subject_type", "ride"), _negated=True), fields=["id"], name="event_forgettable"
            ),
        ),
    ]
