"""Greater Chicago: neighborhoods, fictional street addresses in them, and driving times by hour."""

import math
from dataclasses import dataclass
from typing import Final

from apps.demo.dice import Dice, local
from lib.travel.times import ROAD_FACTOR

# Name, postal code, city, latitude and longitude of the approximate center.
NEIGHBOURHOODS: Final = (
    ("Near North", "60610", "Chicago", 41.9000, -87.6345),
    ("Lincoln Park", "60614", "Chicago", 41.9214, -87.6513),
    ("Lakeview", "60657", "Chicago", 41.9398, -87.6589),
    ("Uptown", "60640", "Chicago", 41.9665, -87.6533),
    ("Edgewater", "60660", "Chicago", 41.9837, -87.6609),
    ("Rogers Park", "60626", "Chicago", 42.0087, -87.6677),
    ("Albany Park", "60625", "Chicago", 41.9683, -87.7224),
    ("Irving Park", "60641", "Chicago", 41.9536, -87.7364),
    ("Logan Square", "60647", "Chicago", 41.9231, -87.7093),
    ("Portage Park", "60634", "Chicago", 41.9542, -87.7651),
    ("Belmont Cragin", "60639", "Chicago", 41.9317, -87.7687),
    ("Austin", "60644", "Chicago", 41.8948, -87.7654),
    ("Garfield Park", "60624", "Chicago", 41.8809, -87.7026),
    ("Humboldt Park", "60651", "Chicago", 41.9022, -87.7216),
    ("West Town", "60622", "Chicago", 41.8966, -87.6711),
    ("Pilsen", "60608", "Chicago", 41.8566, -87.6564),
    ("Little Village", "60623", "Chicago", 41.8441, -87.7126),
    ("Bridgeport", "60609", "Chicago", 41.8381, -87.6510),
    ("Brighton Park", "60632", "Chicago", 41.8189, -87.6989),
    ("Bronzeville", "60653", "Chicago", 41.8170, -87.6180),
    ("Hyde Park", "60615", "Chicago", 41.7943, -87.5967),
    ("Woodlawn", "60637", "Chicago", 41.7794, -87.5994),
    ("South Shore", "60649", "Chicago", 41.7611, -87.5760),
    ("Englewood", "60621", "Chicago", 41.7798, -87.6450),
    ("Auburn Gresham", "60620", "Chicago", 41.7430, -87.6560),
    ("Chatham", "60619", "Chicago", 41.7411, -87.6120),
    ("Beverly", "60643", "Chicago", 41.7182, -87.6717),
    ("Garfield Ridge", "60638", "Chicago", 41.7947, -87.7715),
    ("Oak Park", "60302", "Oak Park", 41.8850, -87.7845),
    ("Cicero", "60804", "Cicero", 41.8456, -87.7539),
    ("Berwyn", "60402", "Berwyn", 41.8506, -87.7936),
    ("Evanston", "60201", "Evanston", 42.0451, -87.6877),
    ("Skokie", "60076", "Skokie", 42.0324, -87.7334),
    ("Oak Lawn", "60453", "Oak Lawn", 41.7108, -87.7581),
    ("Evergreen Park", "60805", "Evergreen Park", 41.7206, -87.7017),
)
# None of these streets exists in the city.
STREETS: Final = (
    "Amberwell Ave", "Birchgrove St", "Candlemere Ave", "Dovecote Ln", "Elderfield Ave", "Foxhollow St", "Gristmill Rd",
    "Hazelcombe Ave", "Ivorydale St", "Juniper Bend Ave", "Kettlebrook St", "Larkmeadow Ave", "Millrace St",
    "Nightjar Ave", "Orchardway St", "Pennywhistle Ave", "Quillfeather St", "Rushlight Ave", "Saltmarsh St",
    "Thistledown Ave", "Umberline St", "Violetbank Ave", "Wickersham Bend", "Yarrowgate Ave",
)  # fmt: skip

MILES_PER_DEGREE: Final = 69.05
# A degree of longitude shrinks with the cosine of the latitude; one value is enough for a metro area.
MILES_PER_DEGREE_EAST: Final = MILES_PER_DEGREE * math.cos(math.radians(41.87))
# Average driving speed by local hour: empty nights, two rush hours; set for the demo, not measured.
_MPH: Final = (34, 34, 34, 34, 33, 32, 28, 24, 22, 24, 26, 26, 26, 26, 25, 23, 21, 21, 23, 27, 30, 31, 32, 33)
STOP_AND_GO_MINUTES: Final = 1.5  # leaving a driveway, parking


@dataclass(frozen=True, slots=True)
class Spot:
    """Point with an address."""

    line1: str
    city: str
    postal_code: str
    lat: float
    lng: float


def areas_around(place: Spot, count: int) -> list[str]:
    """Return the names of the neighborhoods nearest to a place."""
    far = sorted((math.hypot(area[3] - place.lat, (area[4] - place.lng) * 0.745), area[0]) for area in NEIGHBOURHOODS)
    return [name for _, name in far[:count]]


def spot(dice: Dice, near: str | None = None) -> Spot:
    """Return a fictional address in the neighborhood `near`, or in any."""
    areas = [area for area in NEIGHBOURHOODS if area[0] == near] or NEIGHBOURHOODS
    _, postal_code, city, lat, lng = dice.choice(areas)
    number = dice.randrange(100, 8900)
    heading = dice.choice("NSWE")
    return Spot(
        line1=f"{number} {heading} {dice.choice(STREETS)}",
        city=city,
        postal_code=postal_code,
        lat=round(lat + dice.uniform(-0.009, 0.009), 6),
        lng=round(lng + dice.uniform(-0.011, 0.011), 6),
    )


def miles_between(start: Spot, end: Spot) -> float:
    """Estimate road miles: the straight line (flat earth: 0.1 % error over a metro area) times the road factor."""
    north = (start.lat - end.lat) * MILES_PER_DEGREE
    east = (start.lng - end.lng) * MILES_PER_DEGREE_EAST
    return math.sqrt(north * north + east * east) * ROAD_FACTOR


def bearing(start: Spot, end: Spot) -> int:
    """Return the direction of a drive in degrees clockwise from north, 0 to 359."""
    north = (end.lat - start.lat) * MILES_PER_DEGREE
    east = (end.lng - start.lng) * MILES_PER_DEGREE_EAST
    return round(math.degrees(math.atan2(east, north))) % 360


def drive_seconds(start: Spot, end: Spot, at: int) -> int:
    """Estimate the seconds of a drive that starts at an instant."""
    return int((miles_between(start, end) / _MPH[local(at).hour] * 60 + STOP_AND_GO_MINUTES) * 60)
