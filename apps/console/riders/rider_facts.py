"""Template contexts of the rider's page.  Each function returns only what the reader may see.

The levels are those of apps/riders/rules/disclosure.py; notes for dispatchers are for dispatchers alone
(apps/rides/rules/disclosure.py).
"""

from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any

from django.utils.text import capfirst
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from apps.console.recurring.labels import driver_names
from apps.console.ride import labels as ride_labels
from apps.fleet.models import Driver
from apps.riders import labels as rider_labels
from apps.riders.models import Consent, Rider
from apps.riders.queries import PolicyStanding, RiderRecord
from apps.riders.rules import disclosure
from apps.riders.rules.needs import AssistLevel, OxygenSource, Precautions, Severity, StairEquipment
from apps.riders.rules.rider_status import RiderStatus
from apps.rides.labels import driver_name
from apps.rides.models import Ride
from apps.rides.rules.disclosure import disclosure_of
from apps.rides.rules.disclosure import stop as disclosed_stop
from apps.rides.rules.ride_actions import RideAction, allowed_actions
from lib.access import Phi, Principal
from lib.dates import dated_day
from lib.scopes import Scope

Facts = list[tuple[str, str]]


def age_on(day: date, born: date) -> int:
    """Return the age in whole years."""
    return day.year - born.year - ((day.month, day.day) < (born.month, born.day))


def alerts(record: RiderRecord, policy: PolicyStanding, by: Principal) -> list[tuple[str, str]]:
    """Return warnings as pairs of a tone ("bad" or "warn") and a text, the gravest first."""
    rider, rows = record.rider, []
    if rider.status != RiderStatus.ACTIVE:
        text = capfirst(rider.get_status_display())
        if by.phi >= Phi.FULL:
            text = ". ".join(filter(None, (f"{text}{_period(rider)}", rider.status_reason)))
        rows.append(("bad", text))
    if by.phi < Phi.FULL:
        return rows
    needs = record.needs
    if needs["mustNotBeLeftAlone"]:
        rows.append(("bad", _("Do not leave alone")))
    if needs["handoffRequired"]:
        rows.append(("bad", _("Hand-to-hand: a person has to receive the rider")))
    if needs["precautions"] != Precautions.NONE:
        kind = str(Precautions(needs["precautions"]).label).lower()
        rows.append(("warn", _("Infection precautions: %(kind)s") % {"kind": kind}))
    if policy.rider_fault:
        text = ngettext(
            "%(count)s no-show or late cancellation in 90 days, of %(rides)s rides",
            "%(count)s no-shows or late cancellations in 90 days, of %(rides)s rides",
            policy.rider_fault,
        )
        rows.append(("warn", text % {"count": policy.rider_fault, "rides": policy.rides}))
    if not rider.verified:
        rows.append(("warn", _("Identity not verified")))
    return rows


def _period(rider: Rider) -> str:
    if rider.status_from and rider.status_until:
        return _(", %(first)s to %(last)s") % {
            "first": dated_day(rider.status_from),
            "last": dated_day(rider.status_until),
        }
    if rider.status_from:
        return _(" since %(day)s") % {"day": dated_day(rider.status_from)}
    return _(" until %(day)s") % {"day": dated_day(rider.status_until)} if rider.status_until else ""


def needs(record: RiderRecord, by: Principal) -> list[str]:
    """Return the needs in plain words, mobility first; only mobility below full access to PHI."""
    shape = record.needs
    texts = [rider_labels.mobility_label(shape["mobility"])]
    if by.phi < Phi.FULL:
        return texts
    if shape["returnMobility"]:
        back = rider_labels.mobility_label(shape["returnMobility"])
        texts[0] += f" ({_('back: %(mobility)s') % {'mobility': back}})"
    texts.append(capfirst(str(AssistLevel(shape["assistLevel"]).label)))
    texts += _chair(shape["chair"])
    if shape["riderWeightLb"]:
        texts.append(_("Weighs %(pounds)s lb") % {"pounds": shape["riderWeightLb"]})
    if shape["bariatric"]:
        texts.append(_("Bariatric vehicle and crew"))
    texts += _oxygen(shape["oxygen"])
    texts += _stairs(shape["stairs"])
    flags = (
        (shape["handoffRequired"], _("Hand-to-hand")),
        (shape["mustNotBeLeftAlone"], _("Do not leave alone")),
        (shape["serviceAnimal"], _("Service animal")),
        (shape["childSeat"], _("Child seat")),
    )
    texts += [text for flag, text in flags if flag]
    senses = (
        ("hearing", _("Hard of hearing")),
        ("vision", _("Impaired sight")),
        ("cognition", _("Confusion")),
        ("speech", _("Impaired speech")),
    )
    for key, text in senses:
        if shape[key] != Severity.NONE:
            texts.append(f"{text}: {str(Severity(shape[key]).label).lower()}")
    return [*texts, *map(capfirst, shape["equipment"])]


def _chair(chair: Mapping[str, Any]) -> list[str]:
    sizes = [
        _("%(inches)s in wide") % {"inches": f"{chair['widthIn']:g}"} if chair["widthIn"] else "",
        _("%(pounds)s lb") % {"pounds": chair["weightLb"]} if chair["weightLb"] else "",
    ]
    texts = [_("Own chair: %(sizes)s") % {"sizes": ", ".join(filter(None, sizes))}] if any(sizes) else []
    return [*texts, _("Bring a wheelchair")] if chair["provide"] else texts


def _oxygen(oxygen: Mapping[str, Any]) -> list[str]:
    if not oxygen["uses"]:
        return []
    liters = oxygen["litersPerMinute"]
    parts = [
        _("%(liters)s L/min") % {"liters": f"{liters:g}"} if liters else "",
        str(OxygenSource(oxygen["source"]).label).lower() if oxygen["source"] else "",
    ]
    return [", ".join(filter(None, (_("Oxygen"), *parts)))]


def _stairs(stairs: Mapping[str, Any]) -> list[str]:
    texts = []
    if steps := stairs["home"]:
        texts.append(ngettext("%(count)s step at home", "%(count)s steps at home", steps) % {"count": steps})
    if stairs["equipment"] != StairEquipment.NONE:
        texts.append(capfirst(str(StairEquipment(stairs["equipment"]).label)))
    return [*texts, _("A second person helps")] if stairs["secondPerson"] else texts


def address(rider: Rider, by: Principal) -> list[str]:
    """Return the lines of the home address; [] below full access to PHI."""
    if by.phi < Phi.FULL or not rider.home_address:
        return []
    home = rider.home_address
    town = " ".join(filter(None, (home.get("city"), home.get("state"), home.get("postalCode"))))
    inside = ", ".join(filter(None, (home.get("unit"), home.get("room"))))
    lines = (home.get("addressLine1"), home.get("addressLine2"), inside, town, home.get("instructions"))
    return [line for line in lines if line]


def people(rider: Rider, by: Principal) -> list[dict[str, str]]:
    """Return the people to call about the rider: role, name and phone; [] below full access to PHI."""
    if by.phi < Phi.FULL:
        return []
    rows = [(_("Emergency contact"), rider.emergency_contact)] if rider.emergency_contact else []
    rows += [(_("Caregiver"), person) for person in rider.caregivers]
    return [
        {
            "role": ", ".join(filter(None, (role, person.get("relation")))),
            "name": rider_labels.name_beside(person.get("name") or ""),
            "phone": person.get("phone") or "",
        }
        for role, person in rows
    ]


def drivers(rider: Rider, by: Principal) -> Facts:
    """Return which drivers the rider wants, and which must not drive the rider; at most three queries."""
    if by.phi < Phi.FULL:
        return []
    rows = []
    excluded = driver_names(rider.excluded_driver_ids, by) if rider.excluded_driver_ids else []
    if by.has_scope(Scope.DRIVERS_READ):
        refusing = Driver.objects.visible_to(by).filter(excluded_rider_ids__contains=[rider.pk])
        names = [driver_name(driver, by) for driver in refusing.order_by("last_name", "first_name", "pk")]
        excluded += [name for name in names if name not in excluded]
    if excluded:
        rows.append((_("Never with"), "; ".join(excluded)))
    if rider.driver_gender_preference:
        label = {"female": _("Women only"), "male": _("Men only")}[rider.driver_gender_preference]
        rows.append((_("Drivers"), label))
    if rider.preferred_driver_ids:
        rows.append((_("Preferred drivers"), "; ".join(driver_names(rider.preferred_driver_ids, by))))
    return rows


def notes(record: RiderRecord, by: Principal) -> list[tuple[str, str, str]]:
    """Return the notes about the needs: title, text, and a badge for restricted ones."""
    if by.phi < Phi.FULL:
        return []
    rows = [(_("For drivers"), record.needs["driverNotes"], "")]
    if disclosure_of(by).dispatcher_notes:
        rows.append((_("For dispatchers"), record.needs["dispatcherNotes"], _("dispatchers only")))
    return [row for row in rows if row[1]]


def documents(record: RiderRecord, by: Principal) -> Facts:
    """Return ids, consent and authorizations on file; payer ids masked below full access to PHI."""
    rider = record.rider
    if by.phi < Phi.LIMITED:
        return []
    rows = [
        (_("Medicaid ID"), disclosure.masked(rider.medicaid_id or "", by.phi)),
        (_("Member ID"), disclosure.masked(rider.member_id or "", by.phi)),
        *((name.type.upper() or name.system, name.value) for name in record.external_ids),
    ]
    if by.phi >= Phi.FULL and rider.sms_consent != Consent.UNKNOWN:
        at = f", {dated_day(rider.sms_consent_at.date())}" if rider.sms_consent_at else ""
        rows.append((_("Text messages"), f"{rider.get_sms_consent_display()}{at}"))
    return [row for row in rows if row[1]]


def ride_rows(rides: Sequence[Ride], by: Principal) -> list[dict[str, Any]]:
    """Return rides as rows: when, from where to where, status, driver."""
    to = disclosure_of(by)
    return [
        {
            "ride": ride,
            "when": ride_labels.day_and_clock(ride.pickup_at, ride.timezone),
            "from": ride_labels.place_name(disclosed_stop(ride.pickup, to)),
            "to": ride_labels.place_name(disclosed_stop(ride.dropoff, to)),
            "badges": ride_labels.status_of(ride),
            "driver": driver_name(ride.driver, by) if ride.driver else "",
            "may_edit": RideAction.EDIT in allowed_actions(ride, by),
            "promised": ride_labels.clock(ride.promised_pickup_by, ride.timezone) if ride.promised_pickup_by else "",
        }
        for ride in rides
    ]
