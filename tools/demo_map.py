"""Write `apps/demo/city.pmtiles`, the base map of the demo.

Run it by hand after a change: `.venv/bin/python -m tools.demo_map`.  The map is made up: it has the outline of Greater
Chicago and the demo's neighborhoods (`apps/demo/geography.py`), and a grid of invented streets.  It contains no
OpenStreetMap data.  Layers and properties are those of the Protomaps basemap, version 4
(https://docs.protomaps.com/basemaps/layers), which the board's map draws.
"""

import gzip
import itertools
import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import mapbox_vector_tile
from pmtiles.tile import Compression, TileType, zxy_to_tileid
from pmtiles.writer import Writer
from shapely import affinity, box, get_dimensions, simplify, transform, union_all
from shapely.geometry import LineString, MultiLineString, Point, Polygon
from shapely.geometry.base import BaseGeometry

from apps.demo.dice import Dice
from apps.demo.geography import NEIGHBOURHOODS

ROOT: Final = Path(__file__).resolve().parent.parent
WEST, SOUTH, EAST, NORTH = -88.35, 41.40, -86.95, 42.35  # of the land and water; a browser's map is wider than the city
STREETS_WEST, STREETS_SOUTH, STREETS_EAST, STREETS_NORTH = -88.05, 41.58, -87.42, 42.16
MIN_ZOOM, MAX_ZOOM = 7, 13
EXTENT: Final = 4096
STRETCH: Final = math.cos(math.radians(41.87))  # a degree of longitude is shorter than one of latitude
MILE: Final = 1 / 69.05  # degrees of latitude
CENTER: Final = (41.8820, -87.6278)  # of the city

# Outline and names, with points as latitude and longitude.  `streets` run from east to west, from the
# southernmost, one each half mile.
CITY: Final = json.loads((Path(__file__).parent / "demo_city.json").read_text())
TOWNS: Final = frozenset({"Oak Park", "Cicero", "Berwyn", "Evanston", "Skokie", "Oak Lawn", "Evergreen Park"})


@dataclass
class Feature:
    """One shape in degrees (longitude, latitude) and its layer; drawn from `min_zoom` on."""

    layer: str
    shape: BaseGeometry
    properties: dict[str, Any] = field(default_factory=dict)
    min_zoom: int = MIN_ZOOM


def main() -> None:
    features = list(_features())
    target = ROOT / "apps" / "demo" / "city.pmtiles"
    with target.open("wb") as file:
        writer = Writer(file)
        for zoom in range(MIN_ZOOM, MAX_ZOOM + 1):
            for x, y, bounds in _tiles(zoom):
                if data := _encoded(features, zoom, bounds):
                    writer.write_tile(zxy_to_tileid(zoom, x, y), gzip.compress(data, mtime=0))
        writer.finalize(
            {
                "tile_type": TileType.MVT,
                "tile_compression": Compression.GZIP,
                "min_lon_e7": round(WEST * 1e7),
                "min_lat_e7": round(SOUTH * 1e7),
                "max_lon_e7": round(EAST * 1e7),
                "max_lat_e7": round(NORTH * 1e7),
                "center_zoom": 11,
                "center_lon_e7": round(CENTER[1] * 1e7),
                "center_lat_e7": round(CENTER[0] * 1e7),
            },
            {"name": "Demo city", "attribution": "Made-up map of the demo", "type": "baselayer"},
        )


def _features() -> Iterator[Feature]:
    """Yield all shapes, in the order in which later ones cover earlier ones."""
    whole = box(WEST - 0.05, SOUTH - 0.05, EAST + 0.05, NORTH + 0.05)
    lake = Polygon([*_line(CITY["shore"]).coords, (EAST + 0.05, SOUTH - 0.05), (EAST + 0.05, NORTH + 0.05)]).buffer(0)
    rivers = [(river["name"], _widened(river["points"], river["width"])) for river in CITY["rivers"]]
    water = union_all([lake, *(shape for _, shape in rivers)])
    yield Feature("earth", whole.difference(lake), {"kind": "earth"})
    greens = []
    for area in CITY["areas"]:
        name, kind, shape = area["name"], area["kind"], _rounded(*area["corners"]).difference(water)
        greens.append(shape)
        yield Feature("landuse", shape, {"kind": kind}, 8)
        yield Feature("pois", shape.representative_point(), {"kind": kind, "name": name, "min_zoom": 13}, 12)
    yield Feature("water", lake, {"kind": "lake"})
    for name, shape in rivers:
        yield Feature("water", shape.difference(lake), {"kind": "river"}, 9)
        yield Feature("water", shape.representative_point(), {"kind": "river", "name": name}, 12)
    yield Feature("water", Point(-87.53, 41.90), {"kind": "lake", "name": "Lake Michigan"}, 8)
    yield from _roads(water, union_all(greens), whole.difference(lake))
    for name, _, _, lat, lng in NEIGHBOURHOODS:
        town = name in TOWNS
        kind = {"kind": "locality", "kind_detail": "town"} if town else {"kind": "neighbourhood"}
        yield Feature(
            "places", Point(lng, lat), {**kind, "name": name, "population_rank": 8 if town else 1}, 9 if town else 11
        )
    city = {"kind": "locality", "kind_detail": "city", "name": "Chicago", "population_rank": 13}
    yield Feature("places", Point(CENTER[1], CENTER[0]), city)


def _roads(water: BaseGeometry, greens: BaseGeometry, land: BaseGeometry) -> Iterator[Feature]:
    rows = math.ceil((STREETS_NORTH - STREETS_SOUTH) / (MILE / 2))
    columns = math.ceil((STREETS_EAST - STREETS_WEST) * STRETCH / (MILE / 2))
    dry = land.difference(water).difference(greens)
    local = [*(_row(n / 4) for n in range(4 * rows) if n % 4), *(_column(n / 4) for n in range(4 * columns) if n % 4)]
    yield Feature("roads", _with_gaps(MultiLineString(local).intersection(dry)), {"kind": "minor_road"}, 12)
    for n in range(rows):
        major = n % 2 == 0
        properties = {"kind": "major_road", "kind_detail": "primary" if major else "tertiary"}
        shape = _row(n).intersection(land.difference(greens))
        yield Feature(
            "roads",
            shape,
            {**properties, "name": f"{CITY['streets'][n % len(CITY['streets'])]} St"},
            10 if major else 11,
        )
    for n in range(columns):
        major = n % 2 == 0
        properties = {"kind": "major_road", "kind_detail": "primary" if major else "tertiary"}
        shape = _column(n).intersection(land.difference(greens))
        yield Feature("roads", shape, {**properties, "name": f"{_ordinal(2 * (columns - n))} Ave"}, 10 if major else 11)
    for road in CITY["diagonals"]:
        properties = {"kind": "major_road", "kind_detail": "primary", "name": road["name"]}
        yield Feature("roads", _line(road["points"]).intersection(land), properties, 9)
    for road in CITY["expressways"]:
        properties = {"kind": "highway", "kind_detail": "motorway", "name": road["name"]}
        yield Feature("roads", _line(road["points"]), properties)


def _row(number: float) -> LineString:
    lat = STREETS_SOUTH + number * MILE / 2
    return LineString([(STREETS_WEST, lat), (STREETS_EAST, lat)])


def _column(number: float) -> LineString:
    lng = STREETS_WEST + number * MILE / 2 / STRETCH
    return LineString([(lng, STREETS_SOUTH), (lng, STREETS_NORTH)])


def _with_gaps(streets: BaseGeometry) -> MultiLineString:
    """Cut local streets into stretches of a quarter mile and leave out a fifth: real blocks are not all alike."""
    dice = Dice(7)
    stretches = []
    for street in getattr(streets, "geoms", [streets]):
        (x1, y1), (x2, y2) = street.coords[0], street.coords[-1]
        count = max(1, round(math.hypot((x2 - x1) * STRETCH, y2 - y1) / (MILE / 4)))
        points = [(x1 + (x2 - x1) * n / count, y1 + (y2 - y1) * n / count) for n in range(count + 1)]
        run = [points[0]]
        for point in points[1:]:
            if dice.random() < 0.8:
                run.append(point)
            else:
                stretches.append(run)
                run = [point]
        stretches.append(run)
    return MultiLineString([run for run in stretches if len(run) > 1])


def _line(points: Sequence[tuple[float, float]]) -> LineString:
    """Return the line through points of latitude and longitude, with rounded corners."""
    corners = [(lng, lat) for lat, lng in points]
    for _ in range(2):  # Chaikin's corner cutting
        cut = [corners[0]]
        for (x1, y1), (x2, y2) in itertools.pairwise(corners):
            cut += [(0.75 * x1 + 0.25 * x2, 0.75 * y1 + 0.25 * y2), (0.25 * x1 + 0.75 * x2, 0.25 * y1 + 0.75 * y2)]
        corners = [*cut, corners[-1]]
    return LineString(corners)


def _widened(points: Sequence[tuple[float, float]], width: float) -> BaseGeometry:
    """Return a river's surface; `width` is in degrees of latitude."""
    flat = affinity.scale(_line(points), STRETCH, 1, origin=(0, 0))
    return affinity.scale(flat.buffer(width / 2), 1 / STRETCH, 1, origin=(0, 0))


def _rounded(north: float, west: float, south: float, east: float) -> BaseGeometry:
    return box(west, south, east, north).buffer(-0.0015).buffer(0.0015)


def _ordinal(number: int) -> str:
    suffix = "th" if number % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{suffix}"


def _tiles(zoom: int) -> Iterator[tuple[int, int, tuple[float, float, float, float]]]:
    """Yield column, row and bounds (in tiles of the zoom level) of each tile, in the order of the file."""
    west, north = _projected(WEST, NORTH, zoom)
    east, south = _projected(EAST, SOUTH, zoom)
    tiles = [(x, y) for x in range(int(west), int(east) + 1) for y in range(int(north), int(south) + 1)]
    for x, y in sorted(tiles, key=lambda tile: zxy_to_tileid(zoom, *tile)):
        yield x, y, (x, y, x + 1, y + 1)


def _projected(lng: float, lat: float, zoom: int) -> tuple[float, float]:
    angle = math.radians(lat)
    scale = 2**zoom
    return (lng + 180) / 360 * scale, (1 - math.asinh(math.tan(angle)) / math.pi) / 2 * scale


def _encoded(features: list[Feature], zoom: int, bounds: tuple[float, float, float, float]) -> bytes:
    """Return a tile in Mapbox's format; shapes reach 1/64 of a tile over its edge.  b"" for an empty tile."""
    clip = box(bounds[0] - 1 / 64, bounds[1] - 1 / 64, bounds[2] + 1 / 64, bounds[3] + 1 / 64)
    layers: dict[str, list[dict[str, Any]]] = {}
    for feature in features:
        if zoom < feature.min_zoom:
            continue
        drawn = _on_map(feature, zoom)
        # A label belongs to one tile; lines and areas cross the edges.
        shape = _alike(drawn.intersection(box(*bounds) if drawn.geom_type == "Point" else clip), drawn)
        if not shape.is_empty:
            layers.setdefault(feature.layer, []).append({"geometry": shape, "properties": feature.properties})
    if not layers:
        return b""
    return mapbox_vector_tile.encode(
        [{"name": name, "features": found} for name, found in layers.items()],
        default_options={"quantize_bounds": bounds, "extents": EXTENT, "y_coord_down": True},
    )


def _alike(shape: BaseGeometry, whole: BaseGeometry) -> BaseGeometry:
    """Leave out points and lines where a larger shape only touches the edge of a tile."""
    parts = getattr(shape, "geoms", [shape])
    dimension = get_dimensions(whole)
    return union_all([part for part in parts if get_dimensions(part) == dimension])


_drawn: dict[tuple[int, int], BaseGeometry] = {}


def _on_map(feature: Feature, zoom: int) -> BaseGeometry:
    """Return a shape in tiles of a zoom level; points closer than a pixel of the tile are left out."""
    key = (id(feature), zoom)
    if key not in _drawn:
        moved = transform(feature.shape, lambda points: _many(points, zoom))
        _drawn[key] = simplify(moved, 1 / EXTENT)
    return _drawn[key]


def _many(points: Any, zoom: int) -> Any:
    moved = points.copy()
    for n, (lng, lat) in enumerate(points):
        moved[n] = _projected(lng, lat, zoom)
    return moved


if __name__ == "__main__":
    main()
