-- What completions have besides their rides, on the copy of the dataset: 1,000,000 rides that ended, a crew each of those
-- that had one, and the four moments of each that was completed, told by a device.

SET synchronous_commit = off;
SET maintenance_work_mem = '512MB';

-- Indexes and foreign keys are made anew after the rows; rows that are there are right by construction.
CREATE TEMP TABLE foreign_key AS
SELECT conrelid::regclass::text AS of, quote_ident(conname) AS name, pg_get_constraintdef(oid) AS definition
FROM pg_constraint WHERE contype = 'f' AND conrelid IN ('rides_assignment'::regclass, 'rides_milestone'::regclass);
CREATE TEMP TABLE plain_index AS
SELECT indexrelid::regclass::text AS name, pg_get_indexdef(indexrelid) AS definition
FROM pg_index
WHERE indrelid IN ('rides_assignment'::regclass, 'rides_milestone'::regclass)
    AND NOT EXISTS (SELECT FROM pg_constraint WHERE conindid = indexrelid);
DO $$
DECLARE one record;
BEGIN
    FOR one IN SELECT * FROM foreign_key LOOP
        EXECUTE 'ALTER TABLE ' || one.of || ' DROP CONSTRAINT ' || one.name;
    END LOOP;
    FOR one IN SELECT * FROM plain_index LOOP EXECUTE 'DROP INDEX ' || one.name; END LOOP;
END $$;

-- Those that were still to come are called off.
UPDATE rides_ride SET status_before_end = status, status = 'cancelled', cancellation_timing = 'advance',
    reason_code = 'rider_request', fault = 'rider', ended_by = 'system', next_check_at = NULL
WHERE status IN ('scheduled', 'assigned');

INSERT INTO rides_assignment (id, ride_id, sequence, provider_id, driver_id, vehicle_id, attendant_ids, status, method,
    offered_at, responded_at, decline_reason, assigned_by, overridden, override_reason, ended_at, end_reason,
    driver_name, vehicle_plate)
SELECT assignment_id, id, 1, provider_id, driver_id, vehicle_id, '{}', 'completed', 'manual', created_at, created_at, '',
    'system', '{}', '', status_changed_at, '', 'Marek Novak', 'CL00000'
FROM rides_ride WHERE assignment_id IS NOT NULL
ON CONFLICT DO NOTHING;

INSERT INTO rides_milestone (id, ride_id, type, occurred_at, recorded_at, source, lat, lng, actor, edited, voided, note,
    contacted)
-- Ids in the order of their rides, as UUIDv7 are in that of time.
SELECT (left(r.id::text, 13) || '-7' || m.place || substr(r.id::text, 19))::uuid, r.id, m.type, m.at, m.at, 'driver_app',
    41.9, -87.6, 'system', false, false, '', ''
FROM rides_ride r CROSS JOIN LATERAL (VALUES ('000', 'arrived_pickup', r.arrived_pickup_at),
    ('001', 'boarded', r.boarded_at), ('002', 'arrived_dropoff', r.arrived_dropoff_at),
    ('003', 'dropped_off', r.dropped_off_at)) AS m(place, type, at)
WHERE r.status = 'completed';

DO $$
DECLARE one record;
BEGIN
    FOR one IN SELECT * FROM plain_index LOOP EXECUTE one.definition; END LOOP;
    FOR one IN SELECT * FROM foreign_key LOOP
        EXECUTE 'ALTER TABLE ' || one.of || ' ADD CONSTRAINT ' || one.name || ' ' || one.definition || ' NOT VALID';
    END LOOP;
END $$;
