-- A region's two years: 1,000,000 rides of 20,000 riders, the last 40,000 of them still to come.
-- Deterministic; every row satisfies the constraints of the schema, and JSON has the width it has in use.

SET CONSTRAINTS ALL IMMEDIATE;
SET work_mem = '256MB';  -- hash joins in one batch keep the order of the plan, by which the rides are stored

-- An id that sorts by time, as UUIDv7 does; the same for the same arguments.
CREATE FUNCTION pg_temp.id_of(kind text, n bigint, made_at timestamptz) RETURNS uuid LANGUAGE sql IMMUTABLE AS $$
    SELECT (lpad(to_hex((extract(epoch FROM made_at) * 1000)::bigint), 12, '0')
        || '7' || substr(md5(kind || n::text), 1, 3) || '8' || substr(md5(kind || n::text), 4, 15))::uuid
$$;

CREATE TEMP TABLE clock AS SELECT '2026-11-20 00:00Z'::timestamptz AS today, '2024-01-01 00:00Z'::timestamptz AS founded;

-- Where rides start and end: 60 facilities.
CREATE TEMP TABLE place AS
SELECT n, pg_temp.id_of('facility', n, founded) AS id,
    (ARRAY['St. Brigid Hospital', 'Lakeview Dialysis', 'Maple Grove Nursing', 'Northside Clinic'])[n % 4 + 1]
        || ' ' || n AS name,
    (ARRAY['hospital', 'dialysis', 'snf', 'clinic'])[n % 4 + 1] AS kind,
    (100 + n * 37) || ' W Monroe St' AS address, '606' || lpad((n % 60)::text, 2, '0') AS postal_code,
    41.70 + n * 0.005 AS lat, -87.80 + n * 0.004 AS lng
FROM generate_series(0, 59) n, clock;

INSERT INTO organizations_facility (id, name, kind, address_line1, address_line2, city, state, postal_code, lat, lng,
    timezone, geofence_radius_meters, hours, booking_policy, lead_time_minutes, discharge_target_minutes,
    discharge_max_minutes, will_call_response_minutes, pickup_late_minutes, pickup_early_minutes, arrive_early_minutes,
    arrive_too_early_minutes, late_cancel_minutes, return_leg_policy, modifier_code, active, version, created_at,
    updated_at)
SELECT id, name, kind, address, '', 'Chicago', 'IL', postal_code, lat, lng, 'America/Chicago', 150, '[]',
    'auto_confirm', 0, 60, 180, 60, 15, 15, 15, 60, 120, 'hold', 'D', true, 1, founded, founded
FROM place, clock;

INSERT INTO organizations_transportprovider (id, name, phone, timezone, active, created_at)
SELECT pg_temp.id_of('provider', n, founded), 'Lakeshore Transit ' || n, '+13125550100', 'America/Chicago', true, founded
FROM generate_series(0, 2) n, clock;

INSERT INTO organizations_payer (id, name, signature_rule, odometer_required, authorization_required, active)
SELECT pg_temp.id_of('payer', n, founded), 'Prairie Health Plan ' || n, 'none', false, false, true
FROM generate_series(0, 2) n, clock;

INSERT INTO accounts_apiclient (id, name, max_token_age_days, contact_email, active, created_at)
SELECT pg_temp.id_of('client', n, founded), 'Interface engine ' || n, 365, '', true, founded
FROM generate_series(0, 4) n, clock;

-- 20,000 riders, with the stop at home and the needs that their rides copy.
CREATE TEMP TABLE person AS
SELECT n, pg_temp.id_of('rider', n, founded) AS id,
    (ARRAY['ambulatory', 'wheelchair', 'ambulatory_assist', 'stretcher', 'wheelchair_power'])[n % 5 + 1] AS mobility,
    jsonb_build_object('facilityId', NULL, 'name', 'Home', 'addressLine1', (1000 + n % 7000) || ' N Kedzie Ave',
        'addressLine2', '', 'city', 'Chicago', 'state', 'IL', 'postalCode', '606' || lpad((n % 60)::text, 2, '0'),
        'lat', 41.65 + n % 400 * 0.001, 'lng', -87.90 + n % 300 * 0.001, 'entranceId', NULL,
        'entranceText', 'Side door on the alley', 'unit', (n % 40 + 1)::text, 'room', '',
        'instructions', 'Ring twice and wait: she needs a minute to reach the door.',
        'contact', jsonb_build_object('name', 'Daughter', 'phone', '+1312555' || lpad((n % 10000)::text, 4, '0'),
            'ext', '', 'role', 'family'),
        'steps', n % 4, 'elevator', n % 3 = 0, 'stairEquipment', 'none', 'loadMinutes', NULL) AS home
FROM generate_series(0, 19999) n, clock;

CREATE TEMP TABLE need AS
SELECT n, jsonb_build_object('mobility', mobility, 'returnMobility', NULL, 'assistLevel', 'door_through_door',
        'handoffRequired', false, 'mustNotBeLeftAlone', n % 7 = 0,
        'chair', jsonb_build_object('widthIn', CASE WHEN mobility LIKE 'wheelchair%' THEN 26.5 END,
            'weightLb', CASE WHEN mobility LIKE 'wheelchair%' THEN 48 END, 'provide', false),
        'riderWeightLb', 120 + n % 120, 'combinedWeightLb', 120 + n % 120
            + CASE WHEN mobility LIKE 'wheelchair%' THEN 48 ELSE 0 END, 'bariatric', false,
        'oxygen', jsonb_build_object('uses', n % 6 = 0, 'litersPerMinute', CASE WHEN n % 6 = 0 THEN 2.0 END,
            'source', CASE WHEN n % 6 = 0 THEN 'own_tank' END),
        'stairs', jsonb_build_object('home', n % 4, 'equipment', 'none', 'secondPerson', false),
        'serviceAnimal', false, 'childSeat', false, 'hearing', 'some', 'vision', 'none', 'cognition', 'none',
        'speech', 'none', 'precautions', 'none', 'loadMinutes', 8, 'unloadMinutes', 8,
        'equipment', jsonb_build_array('walker', 'transfer board'),
        'driverNotes', 'Speaks softly; likes to sit by the window.', 'dispatcherNotes', '') AS shape
FROM person;

INSERT INTO riders_rider (id, first_name, last_name, preferred_name, date_of_birth, phones, sms_consent, email, language,
    interpreter_needed, contact_preference, home_address, saved_places, caregivers, preferred_driver_ids,
    excluded_driver_ids, driver_gender_preference, status, status_reason, verified, version, created_at, updated_at)
SELECT id, 'Orla', 'Canarywell' || n, '', '1951-04-02', jsonb_build_array(jsonb_build_object('number',
        '+1312555' || lpad((n % 10000)::text, 4, '0'), 'ext', '', 'kind', 'mobile')), 'unknown', '', 'en', false, 'voice',
    home, '[]', '[]', '{}', '{}', '', 'active', '', true, 1, founded, founded
FROM person, clock;

INSERT INTO riders_riderfacility (id, rider_id, facility_id)
SELECT pg_temp.id_of('rider facility', person.n, founded), person.id, place.id
FROM person JOIN place ON place.n = person.n % 60, clock;

INSERT INTO riders_accommodationprofile (id, rider_id, number, current, recorded_at, recorded_by, mobility,
    return_mobility, assist_level, handoff_required, must_not_be_left_alone, chair_width_in, chair_weight_lb,
    provide_chair, rider_weight_lb, oxygen_uses, oxygen_liters_per_minute, oxygen_source, home_steps, stair_equipment,
    second_person, service_animal, child_seat, hearing, vision, cognition, speech, precautions, load_minutes,
    unload_minutes, equipment, driver_notes, dispatcher_notes)
SELECT pg_temp.id_of('profile', n, founded), id, 1, true, founded, 'system', mobility, '', 'door_through_door', false,
    n % 7 = 0, CASE WHEN mobility LIKE 'wheelchair%' THEN 26.5 END, CASE WHEN mobility LIKE 'wheelchair%' THEN 48 END,
    false, 120 + n % 120, n % 6 = 0, CASE WHEN n % 6 = 0 THEN 2.0 END, CASE WHEN n % 6 = 0 THEN 'own_tank' ELSE '' END,
    n % 4, 'none', false, false, false, 'some', 'none', 'none', 'none', 'none', 8, 8, '{walker,transfer board}',
    'Speaks softly; likes to sit by the window.', ''
FROM person, clock;

-- 150 vehicles and 200 drivers of 3 providers, with valid credentials.
INSERT INTO fleet_vehicle (id, provider_id, unit_number, make, model, year, color, vin, license_plate, plate_state, type,
    status, lift_type, lift_rating_lb, max_chair_width_in, oxygen_mount, bariatric, stair_chair, version, created_at,
    updated_at)
SELECT pg_temp.id_of('vehicle', n, founded), pg_temp.id_of('provider', n % 3, founded), 'V' || lpad(n::text, 4, '0'),
    'Ford', 'Transit', 2024, 'white', '', 'CL' || lpad(n::text, 5, '0'), 'IL', 'wheelchair_van', 'in_service', 'lift',
    800, 34.0, true, false, false, 1, founded, founded
FROM generate_series(0, 149) n, clock;

INSERT INTO fleet_capacityconfig (id, vehicle_id, name, ambulatory, wheelchair, stretcher)
SELECT pg_temp.id_of('capacity', n, founded), pg_temp.id_of('vehicle', n, founded), 'standard', 2, 1, 1
FROM generate_series(0, 149) n, clock;

INSERT INTO fleet_driver (id, provider_id, first_name, last_name, phone, email, photo_url, employment, activation,
    activation_reason, activation_changed_by, on_break, languages, gender, license_state, license_class, qualifications,
    excluded_rider_ids, version, created_at, updated_at)
SELECT pg_temp.id_of('driver', n, founded), pg_temp.id_of('provider', n % 3, founded), 'Marek', 'Canarydriver' || n,
    '+13125550122', '', '', 'employee', 'active', '', '', false, '{en}', '', 'IL', 'C',
    '{wheelchair_securement,stretcher,oxygen,passenger_assist}', '{}', 1, founded, founded
FROM generate_series(0, 199) n, clock;

INSERT INTO fleet_credential (id, driver_id, type, number, issuer, issued_on, expires_on, verified_by, rejected,
    blocking, warn_days, replaced, created_at)
SELECT pg_temp.id_of(type, n, founded), pg_temp.id_of('driver', n, founded), type, '', '', '2024-01-01', '2099-01-01',
    '', false, true, 30, false, founded
FROM generate_series(0, 199) n, unnest(ARRAY['driver_license', 'exclusion_check_oig', 'background_check', 'mvr']) type, clock;

INSERT INTO fleet_credential (id, vehicle_id, type, number, issuer, issued_on, expires_on, verified_by, rejected,
    blocking, warn_days, replaced, created_at)
SELECT pg_temp.id_of(type, n, founded), pg_temp.id_of('vehicle', n, founded), type, '', '', '2024-01-01', '2099-01-01',
    '', false, true, 30, false, founded
FROM generate_series(0, 149) n, unnest(ARRAY['registration', 'insurance', 'inspection']) type, clock;

-- The rides, in the order of their pickup: 960,000 have ended, of the rest three in four have a driver.
CREATE TEMP TABLE plan AS
SELECT n, at, least(at, today) - interval '3 days' AS made_at, n % 20000 AS rider, n % 60 AS facility,
    n % 200 AS driver, status,
    status IN ('scheduled') AS open, status = 'completed' AS done, n % 2 = 0 AS inbound,
    status NOT IN ('scheduled', 'assigned') AS ended,
    (ARRAY['dialysis', 'appointment', 'dialysis', 'hospital_discharge', 'therapy'])[n % 5 + 1] AS service_type
FROM (
    SELECT n, date_trunc('minute', today + (n - 960000) * interval '64.8 seconds') AS at,
        CASE WHEN n > 960000 THEN CASE WHEN n % 4 = 0 THEN 'scheduled' ELSE 'assigned' END
            WHEN n % 100 < 88 THEN 'completed' WHEN n % 100 < 94 THEN 'cancelled'
            WHEN n % 100 < 97 THEN 'no_show' ELSE 'unfulfilled' END AS status
    FROM generate_series(1, 1000000) n, clock
) AS planned, clock;

ANALYZE plan, person, need, place;

-- Indexes and foreign keys are made anew after the rows: a fifth of the time, and checked all the same.
CREATE TEMP TABLE foreign_key AS
SELECT conname AS name, pg_get_constraintdef(oid) AS definition
FROM pg_constraint WHERE conrelid = 'rides_ride'::regclass AND contype = 'f';
CREATE TEMP TABLE plain_index AS
SELECT indexrelid::regclass::text AS name, pg_get_indexdef(indexrelid) AS definition
FROM pg_index WHERE indrelid = 'rides_ride'::regclass
    AND NOT EXISTS (SELECT 1 FROM pg_constraint WHERE conindid = indexrelid AND contype IN ('p', 'u', 'x'));
DO $$
DECLARE one record;
BEGIN
    FOR one IN SELECT * FROM foreign_key LOOP EXECUTE 'ALTER TABLE rides_ride DROP CONSTRAINT ' || one.name; END LOOP;
    FOR one IN SELECT * FROM plain_index LOOP EXECUTE 'DROP INDEX ' || one.name; END LOOP;
END $$;

INSERT INTO rides_ride (id, leg_type, leg_sequence, client_id, client_reference, rider_id, facility_id, service_type,
    priority, pickup_at, pickup_time_kind, appointment_at, scheduling_anchor, window_starts_at, window_ends_at, timezone,
    service_date, pickup, dropoff, pickup_facility_id, dropoff_facility_id, will_call, ready_source,
    facility_delay_minutes, accommodation, accommodation_version, companions, vehicle_type_requested, spaces_ambulatory,
    spaces_wheelchair, spaces_stretcher, discharge, dialysis, occurrence_key, occurrence_state, payer_id, program_code,
    authorization_number, driver_notes, dispatcher_notes, facility_notes, requested_by, requested_at, scheduled_at,
    review_reasons, status, status_changed_at, status_before_end, departed_at, arrived_pickup_at, boarded_at,
    arrived_dropoff_at, dropped_off_at, assignment_id, provider_id, driver_id, vehicle_id, attendant_ids, reason_code,
    fault, cancellation_timing, ended_by, end_note, estimated_miles, estimated_minutes, loaded_miles,
    loaded_miles_source, wait_minutes, onboard_minutes, signatures, attestation, handoff_name, missing_documents,
    open_exception_count, max_exception_severity, next_check_at, version, created_at, updated_at)
SELECT pg_temp.id_of('ride', plan.n, made_at),
    CASE WHEN service_type = 'dialysis' AND NOT inbound THEN 'return' ELSE 'one_way' END, 1,
    pg_temp.id_of('client', plan.n % 5, founded), 'ORD-' || plan.n, person.id, place.id, service_type, CASE WHEN service_type = 'dialysis' THEN 'life_sustaining'
    ELSE 'routine' END, at, 'firm', CASE WHEN inbound THEN at + interval '50 minutes' END, 'pickup',
    at - interval '15 minutes', at + interval '15 minutes', 'America/Chicago', (at AT TIME ZONE 'America/Chicago')::date,
    CASE WHEN inbound THEN home ELSE stop END, CASE WHEN inbound THEN stop ELSE home END,
    CASE WHEN NOT inbound THEN place.id END, CASE WHEN inbound THEN place.id END, false, '', 0, shape, 1,
    '{"escorts": 1, "attendantsProvided": 0, "children": 0, "serviceAnimal": false}', '',
    2 - (plan.rider % 5 IN (1, 3, 4))::int, (plan.rider % 5 IN (1, 4))::int, (plan.rider % 5 = 3)::int,
    CASE WHEN service_type = 'hospital_discharge' THEN '{"unit": "4 West", "room": "412", "bed": "A",
        "unitPhone": "+13125550140", "planner": {"name": "Case management", "phone": "+13125550150"},
        "meetAt": "bedside", "destinationKind": "home",
        "checklist": {"orderSigned": true, "medsInHand": true, "oxygenDelivered": true}}'::jsonb END,
    CASE WHEN service_type = 'dialysis' THEN '{"treatmentMinutes": 240, "postTreatmentMinutes": 20, "chair": "12",
        "shift": "mwf"}'::jsonb END, '', '',
    pg_temp.id_of('payer', plan.n % 3, founded), 'MCD', 'A' || lpad(plan.n::text, 8, '0'),
    'Bring the folding chair.', '', 'At the front desk.',
    '{"userId": null, "name": "Case management", "phone": "+13125550150", "role": "scheduling"}', made_at, made_at, '{}',
    status, CASE WHEN ended THEN at + interval '40 minutes' ELSE made_at END,
    CASE status WHEN 'completed' THEN 'in_progress' WHEN 'cancelled' THEN 'assigned' WHEN 'no_show' THEN 'arrived'
        WHEN 'unfulfilled' THEN 'en_route' ELSE '' END,
    CASE WHEN ended AND status <> 'cancelled' THEN at - interval '25 minutes' END,
    CASE WHEN status IN ('completed', 'no_show') THEN at - interval '5 minutes' END,
    CASE WHEN done THEN at + interval '4 minutes' END, CASE WHEN done THEN at + interval '34 minutes' END,
    CASE WHEN done THEN at + interval '40 minutes' END,
    CASE WHEN NOT open THEN pg_temp.id_of('assignment', plan.n, made_at) END,
    CASE WHEN NOT open THEN pg_temp.id_of('provider', driver % 3, founded) END,
    CASE WHEN NOT open THEN pg_temp.id_of('driver', driver, founded) END,
    CASE WHEN NOT open THEN pg_temp.id_of('vehicle', driver % 150, founded) END, '{}',
    CASE status WHEN 'cancelled' THEN 'rider_request' WHEN 'no_show' THEN 'rider_unreachable'
        WHEN 'unfulfilled' THEN 'vehicle_breakdown' ELSE '' END,
    CASE WHEN status IN ('cancelled', 'no_show') THEN 'rider' WHEN status = 'unfulfilled' THEN 'provider' ELSE '' END,
    CASE WHEN status = 'cancelled' THEN 'advance' ELSE '' END,
    CASE WHEN ended AND NOT done THEN 'system' ELSE '' END, '', 7.40, 32, CASE WHEN done THEN 7.62 END,
    CASE WHEN done THEN 'gps' ELSE '' END, CASE WHEN done THEN 4 END, CASE WHEN done THEN 36 END,
    CASE WHEN done THEN jsonb_build_array(jsonb_build_object('signer', 'rider', 'stop', 'dropoff', 'name', 'O. C.',
        'at', at + interval '40 minutes')) ELSE '[]' END,
    NULL, '', '{}', 0, '', CASE WHEN NOT ended THEN at - interval '2 days' END, CASE WHEN ended THEN 6 WHEN open THEN 1 ELSE 2 END, made_at,
    CASE WHEN ended THEN at + interval '40 minutes' ELSE made_at END
FROM plan
    JOIN person ON person.n = plan.rider
    JOIN need ON need.n = plan.rider
    JOIN (SELECT place.*, jsonb_build_object('facilityId', id::text, 'name', name, 'addressLine1', address,
            'addressLine2', '', 'city', 'Chicago', 'state', 'IL', 'postalCode', postal_code, 'lat', lat, 'lng', lng,
            'entranceId', NULL, 'entranceText', 'Main entrance, under the canopy', 'unit', '4 West', 'room', '412',
            'instructions', 'Sign in at the desk; the unit brings the rider down.',
            'contact', jsonb_build_object('name', 'Nurse station', 'phone', '+13125550140', 'ext', '12',
                'role', 'charge_nurse'),
            'steps', 0, 'elevator', true, 'stairEquipment', 'none', 'loadMinutes', NULL) AS stop
        FROM place) AS place ON place.n = plan.facility, clock;

DO $$
DECLARE one record;
BEGIN
    FOR one IN SELECT * FROM plain_index LOOP EXECUTE one.definition; END LOOP;
    FOR one IN SELECT * FROM foreign_key LOOP
        EXECUTE 'ALTER TABLE rides_ride ADD CONSTRAINT ' || one.name || ' ' || one.definition;
    END LOOP;
END $$;

INSERT INTO rides_assignment (id, ride_id, sequence, provider_id, driver_id, vehicle_id, attendant_ids, status, method,
    offered_at, responded_at, decline_reason, assigned_by, overridden, override_reason, end_reason, driver_name,
    vehicle_plate)
SELECT assignment_id, id, 1, provider_id, driver_id, vehicle_id, '{}', 'accepted', 'manual', created_at, created_at, '',
    'system', '{}', '', '', 'Marek', 'CL00000'
FROM rides_ride WHERE status = 'assigned';
