-- Rides of two years at 60 facilities, for reports: as many as the setting `bench.rides` says, the last day today.
-- Narrow rows: stops and needs are shorter than in use, which helps whoever reads the rides themselves.

SET CONSTRAINTS ALL IMMEDIATE;
SET work_mem = '256MB';

CREATE FUNCTION pg_temp.id_of(kind int, n bigint) RETURNS uuid LANGUAGE sql IMMUTABLE AS $$
    SELECT ('01937b2e-' || lpad(to_hex(kind), 4, '0') || '-7000-8000-' || lpad(to_hex(n), 12, '0'))::uuid
$$;

INSERT INTO organizations_facility (id, name, kind, address_line1, address_line2, city, state, postal_code, lat, lng,
    timezone, geofence_radius_meters, hours, booking_policy, lead_time_minutes, discharge_target_minutes,
    discharge_max_minutes, will_call_response_minutes, pickup_late_minutes, pickup_early_minutes, arrive_early_minutes,
    arrive_too_early_minutes, late_cancel_minutes, return_leg_policy, modifier_code, active, version, created_at,
    updated_at)
SELECT pg_temp.id_of(1, n), 'Facility ' || n, 'hospital', n || ' W Monroe St', '', 'Chicago', 'IL', '60606', 41.88, -87.63,
    'America/Chicago', 150, '[]', 'auto_confirm', 0, 60, 180, 60, 15, 15, 15, 60, 120, 'hold', 'D', true, 1, now(), now()
FROM generate_series(0, 59) n;

INSERT INTO organizations_transportprovider (id, name, phone, timezone, active, created_at)
SELECT pg_temp.id_of(2, n), 'Prairie Transit ' || n, '+13125550100', 'America/Chicago', true, now()
FROM generate_series(0, 2) n;

INSERT INTO riders_rider (id, first_name, last_name, preferred_name, date_of_birth, phones, sms_consent, email, language,
    interpreter_needed, contact_preference, home_address, saved_places, caregivers, preferred_driver_ids,
    excluded_driver_ids, driver_gender_preference, status, status_reason, verified, version, created_at, updated_at)
SELECT pg_temp.id_of(3, n), 'Orla', 'Canarywell' || n, '', '1951-04-02', '[]', 'unknown', '', 'en', false, 'voice', '{}',
    '[]', '[]', '{}', '{}', '', 'active', '', true, 1, now(), now()
FROM generate_series(0, 999) n;

INSERT INTO fleet_vehicle (id, provider_id, unit_number, make, model, year, color, vin, license_plate, plate_state, type,
    status, lift_type, lift_rating_lb, max_chair_width_in, oxygen_mount, bariatric, stair_chair, version, created_at,
    updated_at)
SELECT pg_temp.id_of(4, n), pg_temp.id_of(2, n % 3), 'V' || n, '', '', 2024, '', '', 'CL' || n, 'IL', 'wheelchair_van',
    'in_service', 'lift', 800, 34.0, true, false, false, 1, now(), now()
FROM generate_series(0, 2) n;

INSERT INTO fleet_driver (id, provider_id, first_name, last_name, phone, email, photo_url, employment, activation,
    activation_reason, activation_changed_by, on_break, languages, gender, license_state, license_class, qualifications,
    excluded_rider_ids, version, created_at, updated_at)
SELECT pg_temp.id_of(5, n), pg_temp.id_of(2, n % 3), 'Marek', 'Canarydriver', '+13125550122', '', '', 'employee', 'active', '', '',
    false, '{en}', '', 'IL', 'C', '{}', '{}', 1, now(), now()
FROM generate_series(0, 2) n;

-- Indexes and foreign keys are made anew after the rows; rows that are there are right by construction.
CREATE TEMP TABLE foreign_key AS
SELECT conrelid::regclass::text AS of, quote_ident(conname) AS name, pg_get_constraintdef(oid) AS definition
FROM pg_constraint WHERE contype = 'f'
    AND conrelid IN ('rides_ride'::regclass, 'rides_assignment'::regclass, 'rides_rideexception'::regclass);
CREATE TEMP TABLE plain_index AS
SELECT indexrelid::regclass::text AS name, pg_get_indexdef(indexrelid) AS definition
FROM pg_index
WHERE indrelid IN ('rides_ride'::regclass, 'rides_assignment'::regclass, 'rides_rideexception'::regclass)
    AND NOT EXISTS (SELECT FROM pg_constraint WHERE conindid = indexrelid);
DO $$
DECLARE one record;
BEGIN
    FOR one IN SELECT * FROM foreign_key LOOP
        EXECUTE 'ALTER TABLE ' || one.of || ' DROP CONSTRAINT ' || one.name;
    END LOOP;
    FOR one IN SELECT * FROM plain_index LOOP EXECUTE 'DROP INDEX ' || one.name; END LOOP;
END $$;

INSERT INTO rides_ride (id, leg_type, leg_sequence, client_reference, rider_id, facility_id, service_type, priority,
    pickup_at, pickup_time_kind, appointment_at, scheduling_anchor, window_starts_at, window_ends_at, timezone,
    service_date, pickup, dropoff, will_call, ready_at, ready_source, promised_pickup_by, will_call_expires_at,
    facility_delay_minutes, accommodation, accommodation_version, companions, vehicle_type_requested, spaces_ambulatory,
    spaces_wheelchair, spaces_stretcher, discharge, dialysis, occurrence_key, occurrence_state, program_code,
    authorization_number, driver_notes, dispatcher_notes, facility_notes, requested_by, requested_at, scheduled_at,
    review_reasons, status, status_changed_at, status_before_end, arrived_pickup_at, boarded_at, arrived_dropoff_at,
    dropped_off_at, assignment_id, provider_id, driver_id, vehicle_id, attendant_ids, reason_code, fault,
    cancellation_timing, ended_by, end_note, estimated_minutes, loaded_miles_source, onboard_minutes, signatures,
    handoff_name, missing_documents, open_exception_count, max_exception_severity, next_check_at, version, created_at,
    updated_at)
SELECT pg_temp.id_of(6, n), CASE WHEN service = 'dialysis' AND will_call THEN 'return' ELSE 'outbound' END, 1, '',
    pg_temp.id_of(3, n % 1000), pg_temp.id_of(1, n % 60), service, 'routine', at,
    CASE WHEN will_call THEN 'estimated' ELSE 'firm' END, CASE WHEN NOT will_call THEN at + interval '50 minutes' END,
    'pickup', at - interval '15 minutes', at + interval '15 minutes', 'America/Chicago',
    (at AT TIME ZONE 'America/Chicago')::date, '{"name": "Home"}', '{"name": "Hospital"}', will_call,
    CASE WHEN will_call THEN ready END, CASE WHEN will_call THEN 'phone' ELSE '' END,
    CASE WHEN will_call THEN ready + interval '60 minutes' ELSE at + interval '15 minutes' END,
    CASE WHEN will_call THEN at + interval '9 hours' END, 0, '{}', 1, '{}', '', 1, 0, 0,
    CASE WHEN service = 'hospital_discharge' THEN '{"dischargeOrderAt": "2026-01-01T00:00:00Z"}'::jsonb END, NULL, '', '',
    '', '', '', '', '', '{}', at - lead, at - lead, '{}', status, at + interval '1 hour',
    CASE status WHEN 'completed' THEN 'in_progress' WHEN 'no_show' THEN 'arrived' ELSE 'assigned' END, arrived,
    CASE WHEN done THEN arrived + n % 13 * interval '1 minute' END,
    CASE WHEN done THEN arrived + (20 + n % 47) * interval '1 minute' END,
    CASE WHEN done THEN arrived + (22 + n % 47) * interval '1 minute' END, pg_temp.id_of(7, n), pg_temp.id_of(2, n % 3),
    pg_temp.id_of(5, n % 3), pg_temp.id_of(4, n % 3), '{}',
    CASE status WHEN 'cancelled' THEN (ARRAY['rider_request', 'rider_ill', 'weather', 'duplicate'])[n % 4 + 1]
        WHEN 'no_show' THEN 'rider_unreachable' WHEN 'unfulfilled' THEN 'vehicle_breakdown' ELSE '' END,
    CASE status WHEN 'cancelled' THEN 'none' WHEN 'no_show' THEN 'rider' WHEN 'unfulfilled' THEN 'provider' ELSE '' END,
    CASE WHEN status = 'cancelled' THEN (ARRAY['advance', 'same_day', 'late'])[n % 3 + 1] ELSE '' END,
    CASE WHEN done THEN '' ELSE 'system' END, '', 10 + n % 37, '', CASE WHEN done THEN 22 + n % 47 - n % 13 END, '[]', '',
    '{}', 0, '', NULL, 6, at - lead, at + interval '1 hour'
FROM (
    SELECT *, status = 'completed' AS done, service IN ('dialysis', 'hospital_discharge') AND n % 2 = 0 AS will_call,
        CASE WHEN status IN ('completed', 'no_show') THEN
            at + (n % 41 - 10 + CASE WHEN service IN ('dialysis', 'hospital_discharge') AND n % 2 = 0 THEN 12 ELSE 0 END)
                * interval '1 minute' END AS arrived, at + n % 11 * interval '1 minute' AS ready
    FROM (
        SELECT n, (ARRAY['dialysis', 'appointment', 'dialysis', 'hospital_discharge', 'therapy'])[n / 7 % 5 + 1] AS service,
            -- From four in the morning to eight in the evening.
            date_trunc('day', '2026-11-20Z'::timestamptz) - (730 - n * 730 / rides - 1) * interval '1 day'
                + interval '10 hours' + n * 37 % 960 * interval '1 minute' AS at,
            (60 + n * 7919 % 28800) * interval '1 minute' AS lead,
            CASE WHEN n * 7 % 100 < 88 THEN 'completed' WHEN n * 7 % 100 < 94 THEN 'cancelled'
                WHEN n * 7 % 100 < 97 THEN 'no_show' ELSE 'unfulfilled' END AS status
        FROM (SELECT current_setting('bench.rides')::bigint AS rides) size, generate_series(0, rides - 1) n
    ) planned
) told;

-- One accepted assignment each, and an exception on about every fiftieth ride.
INSERT INTO rides_assignment (id, ride_id, sequence, provider_id, driver_id, vehicle_id, attendant_ids, status, method,
    offered_at, responded_at, decline_reason, assigned_by, overridden, override_reason, ended_at, end_reason,
    driver_name, vehicle_plate)
SELECT assignment_id, id, 1, provider_id, driver_id, vehicle_id, '{}', 'completed', 'manual', requested_at,
    requested_at + interval '40 minutes', '', 'system', '{}', '', updated_at, 'completed', 'Marek', 'CL0'
FROM rides_ride;
INSERT INTO rides_rideexception (id, ride_id, rider_id, facility_id, type, severity, status, opened_at, opened_by,
    detected_by, acknowledged_at, acknowledged_by, resolved_at, resolved_by, resolution_code, resolution_note, summary,
    details, escalation_level, related_exception_ids, version, updated_at)
SELECT pg_temp.id_of(8, row_number() OVER ()), id, rider_id, facility_id, 'late_pickup', 'warning', 'resolved', pickup_at,
    'system', 'watch', pickup_at + interval '4 minutes', 'system', pickup_at + interval '20 minutes', 'system',
    'recovered_late', '', '', '{}', 0, '{}', 1, updated_at
FROM rides_ride WHERE get_byte(uuid_send(id), 15) % 50 = 0;

DO $$
DECLARE one record;
BEGIN
    FOR one IN SELECT * FROM plain_index LOOP EXECUTE one.definition; END LOOP;
    FOR one IN SELECT * FROM foreign_key LOOP
        EXECUTE 'ALTER TABLE ' || one.of || ' ADD CONSTRAINT ' || one.name || ' ' || one.definition || ' NOT VALID';
    END LOOP;
END $$;
