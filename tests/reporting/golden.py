"""November 2026 at one facility: 60 legs that cover every population, exclusion and boundary of kpi-1.

test_golden_month.py contains each figure of them, computed by hand.  Clocks go back on Sunday the 1st.
"""

from typing import Final

from tests.reporting.legs import Leg, Trouble

_GPS: Final = (20, 150)  # meters: the boundary counts as inside

# 20 completed rides to appointments an hour after the pickup: the first 12 on time.
_APPOINTMENTS: Final = [
    *(
        Leg(day, arrived=0, boarded=5, delivered=50, dropped=52, appointment=60, onboard=47, direct=40, seen_at=_GPS)
        for day in range(2, 14)
    ),
    # The last minute that is on time, at the pickup and at the appointment.
    Leg(14, arrived=15, boarded=20, delivered=60, dropped=65, appointment=60, onboard=45, direct=40),
    # A minute late at both.
    Leg(15, arrived=16, boarded=18, delivered=61, dropped=65, appointment=60, onboard=47, direct=40),
    # Without a pickup arrival time.
    Leg(16, boarded=5, delivered=50, dropped=52, appointment=60, onboard=47, direct=40, missing=("signature",)),
    # Boarded 16 minutes early, and 61 minutes too early at the appointment.
    Leg(17, arrived=-30, boarded=-16, delivered=-1, dropped=4, appointment=60, onboard=20, direct=40),
    # 15 minutes early, and an hour before the appointment: neither counts.
    Leg(18, arrived=-30, boarded=-15, delivered=0, dropped=5, appointment=60, onboard=20, direct=40),
    # Without a drop-off arrival time.
    Leg(19, arrived=0, boarded=5, dropped=50, appointment=60, onboard=45, direct=40),
    # More than twice the direct drive; and exactly twice.
    Leg(20, arrived=0, boarded=0, delivered=59, dropped=81, appointment=60, onboard=81, direct=40),
    Leg(21, arrived=0, boarded=0, delivered=59, dropped=80, appointment=60, onboard=80, direct=40),
]
# 5 more completed rides without an appointment: an hour over a long drive, no estimate, GPS too far off, and so on.
_PLAIN: Final = [
    Leg(3, "15:00", arrived=0, boarded=4, delivered=164, dropped=165, onboard=161, direct=100),
    Leg(4, "15:00", arrived=0, boarded=4, delivered=30, dropped=32, onboard=28),
    Leg(5, "15:00", arrived=0, boarded=4, delivered=30, dropped=32, onboard=28, direct=30, seen_at=(20, 151)),
    # At the drop-off at 01:30, in the second of two such hours: two hours on board, not one.
    Leg(1, "00:30", arrived=0, boarded=4, delivered=120, dropped=124, onboard=120, direct=90),
    # Ended by mistake and corrected: the exception of that outcome was a false alarm.
    Leg(
        6,
        "15:00",
        arrived=0,
        boarded=4,
        delivered=30,
        dropped=32,
        onboard=28,
        direct=30,
        troubles=(Trouble("ride_unfulfilled", "critical", 10, 20, "false_alarm"),),
    ),
]
# No-shows: rider's fault twice, facility's once, no fault once; for one of them the vehicle came too late.
_NO_SHOWS: Final = [
    Leg(7, status="no_show", reason="rider_not_at_pickup", fault="rider", arrived=0),
    Leg(8, status="no_show", reason="rider_unreachable", fault="rider", arrived=20),
    Leg(9, status="no_show", reason="not_found_at_facility", fault="facility", arrived=0),
    Leg(10, status="no_show", reason="bad_pickup_details", fault="none"),
]
# Unfulfilled: provider's fault on the outbound leg (given back 48 hours ahead, and one minute later), on the return leg
# after the vehicle's arrival; payer's fault; no fault, at the door.
_UNFULFILLED: Final = [
    Leg(11, "09:00", "unfulfilled", reason="no_driver_available", fault="provider", ended=-2880, accepted=None),
    Leg(
        12,
        "09:00",
        "unfulfilled",
        reason="given_back_late",
        fault="provider",
        ended=-2879,
        appointment=60,
        troubles=(Trouble("no_driver_available", "critical", 5, 65), Trouble("unassigned_at_risk", "info")),
    ),
    Leg(
        13,
        "09:00",
        "unfulfilled",
        way="return",
        reason="wrong_vehicle_sent",
        fault="provider",
        arrived=10,
    ),
    Leg(14, "09:00", "unfulfilled", reason="authorization_missing", fault="payer", accepted=None, appointment=60),
    Leg(15, "09:00", "unfulfilled", reason="aborted_medical_emergency", fault="none", arrived=5, boarded=9),
]
# Cancelled at each time, one of them at the door; then the five reasons that belong to no figure.
_CANCELLED: Final = [
    Leg(16, "11:00", "cancelled", reason="rider_ill", fault="none", timing="advance", accepted=None),
    Leg(17, "11:00", "cancelled", reason="rider_request", fault="rider", timing="advance"),
    Leg(18, "11:00", "cancelled", reason="weather", fault="none", timing="same_day"),
    Leg(19, "11:00", "cancelled", reason="appointment_moved", fault="facility", timing="late", appointment=60),
    Leg(20, "11:00", "cancelled", reason="rider_refused_at_door", fault="rider", timing="at_door", arrived=14),
    Leg(21, "11:00", "cancelled", reason="duplicate", fault="none", timing="advance"),
    Leg(22, "11:00", "cancelled", reason="booking_error", fault="none", timing="late"),
    # A code that the operator added, which counts as standing_order_hold.
    Leg(23, "11:00", "cancelled", reason="hospital_week", fault="none", timing="advance"),
    Leg(24, "11:00", "cancelled", reason="standing_order_ended", fault="none", timing="advance"),
    Leg(25, "11:00", "cancelled", reason="calendar_shift", fault="none", timing="advance"),
]
# Discharges, all will-call: 45, 60, 61, 181 minutes; failed by the provider; cancelled after release; never released.
_DISCHARGES: Final = [
    Leg(
        2,
        "13:00",
        service="hospital_discharge",
        ready=0,
        ordered=-90,
        arrived=30,
        boarded=45,
        delivered=70,
        dropped=75,
        onboard=30,
        direct=20,
    ),
    Leg(
        3,
        "13:00",
        service="hospital_discharge",
        ready=0,
        ordered=-120,
        arrived=55,
        boarded=60,
        delivered=80,
        dropped=90,
        onboard=30,
        direct=20,
    ),
    Leg(
        4,
        "13:00",
        service="hospital_discharge",
        ready=10,
        arrived=60,
        boarded=71,
        delivered=90,
        dropped=95,
        onboard=24,
        direct=20,
    ),
    Leg(
        5,
        "13:00",
        service="hospital_discharge",
        ready=0,
        ordered=-150,
        arrived=170,
        boarded=181,
        delivered=200,
        dropped=205,
        onboard=24,
        direct=20,
    ),
    Leg(
        6,
        "13:00",
        "unfulfilled",
        "hospital_discharge",
        reason="no_driver_available",
        fault="provider",
        ready=0,
        ended=240,
        accepted=None,
    ),
    Leg(
        7,
        "13:00",
        "cancelled",
        "hospital_discharge",
        reason="discharge_cancelled",
        fault="facility",
        timing="late",
        ready=0,
    ),
    Leg(8, "13:00", "scheduled", "hospital_discharge", will_call=True, accepted=None),
]
# Dialysis.  Outbound: on the last minute, a minute late, 15 and 16 minutes after the chair time, failed, failed by the
# payer, cancelled.  Return, will-call: 20 and 40 minutes, and one that waits.
_DIALYSIS: Final = [
    Leg(
        2,
        "05:30",
        service="dialysis",
        way="outbound",
        arrived=0,
        boarded=5,
        delivered=25,
        dropped=27,
        appointment=30,
        onboard=22,
        direct=20,
    ),
    Leg(
        3,
        "05:30",
        service="dialysis",
        way="outbound",
        arrived=0,
        boarded=5,
        delivered=26,
        dropped=28,
        appointment=30,
        onboard=23,
        direct=20,
    ),
    Leg(
        4,
        "11:00",
        service="dialysis",
        way="outbound",
        arrived=0,
        boarded=5,
        delivered=45,
        dropped=47,
        appointment=30,
        onboard=42,
        direct=20,
    ),
    Leg(
        7,
        "15:30",
        service="dialysis",
        way="outbound",
        arrived=0,
        boarded=5,
        delivered=46,
        dropped=48,
        appointment=30,
        onboard=43,
        direct=20,
    ),
    Leg(
        9,
        "05:30",
        "unfulfilled",
        "dialysis",
        "outbound",
        reason="vehicle_breakdown",
        fault="provider",
        appointment=30,
        troubles=(Trouble("vehicle_breakdown", "critical", 2, 92), Trouble("accident", "critical", 4, None)),
    ),
    Leg(
        10,
        "05:30",
        "unfulfilled",
        "dialysis",
        "outbound",
        reason="authorization_missing",
        fault="payer",
        appointment=30,
        accepted=None,
    ),
    Leg(
        8,
        "05:30",
        "cancelled",
        "dialysis",
        "outbound",
        reason="rider_hospitalized",
        fault="none",
        timing="same_day",
        appointment=30,
    ),
    Leg(
        2,
        "10:30",
        service="dialysis",
        way="return",
        ready=5,
        arrived=25,
        boarded=28,
        delivered=50,
        dropped=52,
        onboard=24,
        direct=20,
        accepted=1380,
    ),
    Leg(
        3,
        "10:30",
        service="dialysis",
        way="return",
        ready=-10,
        arrived=30,
        boarded=33,
        delivered=50,
        dropped=52,
        onboard=19,
        direct=20,
        accepted=1440,
    ),
]

MONTH: Final = [*_APPOINTMENTS, *_PLAIN, *_NO_SHOWS, *_UNFULFILLED, *_CANCELLED, *_DISCHARGES, *_DIALYSIS]
