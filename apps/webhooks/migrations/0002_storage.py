"""How PostgreSQL stores deliveries, and the function that makes their ids."""

from django.db import migrations

# A UUIDv7 with microseconds where chance may stand (RFC 9562, section 6.2, method 3): PostgreSQL has none before 18.
_NEW_ID = """
CREATE FUNCTION webhooks_new_id() RETURNS uuid LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    us bigint := (extract(epoch FROM clock_timestamp()) * 1000000)::bigint;
BEGIN
    RETURN encode(overlay(overlay(uuid_send(gen_random_uuid())
        PLACING substring(int8send(us / 1000) FROM 3) FROM 1 FOR 6)
        PLACING substring(int4send((28672 + (us % 1000) * 4096 / 1000)::int) FROM 3) FROM 7 FOR 2), 'hex')::uuid;
END $$;
"""


class Migration(migrations.Migration):
    dependencies = [("webhooks", "0001_initial")]

    operations = [
        migrations.RunSQL(_NEW_ID, "DROP FUNCTION webhooks_new_id();"),
        # Rows change three times within a second of their life: room on the page, and a vacuum that does not wait for a
        # fifth of a table of millions to be dead.
        migrations.RunSQL(
            "ALTER TABLE webhooks_delivery SET (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.01,"
            " autovacuum_vacuum_cost_delay = 0);"
            "ALTER TABLE webhooks_endpointhealth SET (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.01,"
            " autovacuum_vacuum_threshold = 500, autovacuum_vacuum_cost_delay = 0);",
            migrations.RunSQL.noop,
        ),
    ]
