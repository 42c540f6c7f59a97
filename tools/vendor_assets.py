"""Copy the libraries that pages and browser tests use out of their npm packages, and write what they are.

Run it by hand after changing a version below: `python tools/vendor_assets.py`.  Needs npm.  What it writes is
committed; tests/test_vendored_assets.py holds the tree to the manifests.
"""

import hashlib
import json
import re
import subprocess
import tarfile
import tempfile
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LUCIDE = "lucide-static@1.62.0"
HTMX = "htmx.org@4.0.1"
LEAFLET = "leaflet@1.9.4"
AXE = "axe-core@4.14.1"
ECHARTS = "echarts@6.1.0"
ZRENDER = "zrender@6.1.0"  # what ECharts draws with; the version that it asks for
PROTOMAPS = "protomaps-leaflet@5.1.0"
PMTILES = "pmtiles@3.2.1"  # the major version that protomaps-leaflet depends on
SUPERCLUSTER = "supercluster@9.1.0"
# All packages in the bundle of the map, with their licenses.  Those of Protomaps share one license text.
IN_MAP = {
    PROTOMAPS: "BSD-3-Clause",
    PMTILES: "BSD-3-Clause",
    "@protomaps/basemaps@5.7.2": "BSD-3-Clause",
    "@mapbox/point-geometry@1.1.0": "ISC",
    "@mapbox/vector-tile@2.0.5": "BSD-3-Clause",
    "color2k@2.0.4": "MIT",
    "fflate@0.8.3": "MIT",
    "pbf@4.0.2": "BSD-3-Clause",
    "potpack@1.0.2": "ISC",
    "quickselect@2.0.0": "ISC",
    "rbush@3.0.1": "MIT",
    SUPERCLUSTER: "ISC",
    "kdbush@4.1.0": "ISC",
}
ESBUILD = "esbuild@0.28.2"

# Of ECharts what charts of reports are drawn with, and no more: 183 kB compressed, the whole takes 360.
CHARTS = """\
export { init } from "echarts/core";
import { use } from "echarts/core";
import { BarChart, LineChart } from "echarts/charts";
import { AriaComponent, GridComponent, TooltipComponent } from "echarts/components";
import { SVGRenderer } from "echarts/renderers";
use([BarChart, LineChart, AriaComponent, GridComponent, TooltipComponent, SVGRenderer]);
"""

# What the board's map adds to Leaflet: vector tiles of one file, and clusters.
MAP = """\
export { labelRules, leafletLayer, LineSymbolizer, paintRules } from "protomaps-leaflet";
export { namedFlavor } from "@protomaps/basemaps";
export { PMTiles } from "pmtiles";
export { default as Supercluster } from "supercluster";
"""

ICONS = """\
accessibility activity alarm-clock arrow-left arrow-right ban badge-check bed bell blocks book-open building-2
calendar-days calendar-plus car-front chart-no-axes-column check chevron-down chevron-left chevron-right circle-alert
circle-help clock code coffee command copy credit-card download ellipsis eye file-text filter flag git-branch
heart-pulse history hospital house id-card info key-round keyboard layers-2 layout-list list-checks list-restart lock
log-in log-out mail map map-pin menu message-square minus monitor-smartphone moon pause pencil phone play plug plus
printer repeat rotate-ccw route rows-3 scroll-text search send settings shield-check square-kanban sun sun-moon trash-2
triangle-alert truck undo-2 upload user-plus user-round user-x users volume-2 warehouse webhook wind x
"""


def main() -> None:
    vendor = ROOT / "static" / "vendor"
    with tempfile.TemporaryDirectory() as folder:
        lucide = _unpacked(LUCIDE, Path(folder) / "lucide")
        _write(vendor / "lucide" / "sprite.svg", _sprite(lucide).encode())
        _write(vendor / "lucide" / "LICENSE", (lucide / "LICENSE").read_bytes())
        htmx = _unpacked(HTMX, Path(folder) / "htmx")
        _write(vendor / "htmx" / "htmx.min.js", _without_map((htmx / "dist" / "htmx.min.js").read_bytes()))
        _write(vendor / "htmx" / "LICENSE", (htmx / "LICENSE").read_bytes())
        leaflet = _unpacked(LEAFLET, Path(folder) / "leaflet")
        for name in (
            "leaflet.js",
            "leaflet.css",
            *(f"images/{path.name}" for path in (leaflet / "dist/images").iterdir()),
        ):
            _write(vendor / "leaflet" / name, _without_map((leaflet / "dist" / name).read_bytes()))
        _write(vendor / "leaflet" / "LICENSE", (leaflet / "LICENSE").read_bytes())
        modules = _bundled(CHARTS, [ECHARTS, ZRENDER], vendor / "echarts" / "charts.min.js", Path(folder) / "charts")
        for name in ("LICENSE", "NOTICE"):
            _write(vendor / "echarts" / name, (modules / "echarts" / name).read_bytes())
        _write(vendor / "echarts" / "LICENSE-zrender", (modules / "zrender" / "LICENSE").read_bytes())
        modules = _bundled(MAP, list(IN_MAP), vendor / "protomaps" / "map.min.js", Path(folder) / "map")
        _write(vendor / "protomaps" / "LICENSE", _licenses(modules, IN_MAP))
        axe = _unpacked(AXE, Path(folder) / "axe")
        tests = ROOT / "tests" / "browser" / "vendor"
        _write(tests / "axe.min.js", (axe / "axe.min.js").read_bytes())
        _write(tests / "LICENSE", (axe / "LICENSE").read_bytes())
    _manifest(
        vendor,
        {
            "lucide": _about(LUCIDE, "ISC"),
            "htmx": _about(HTMX, "0BSD"),
            "leaflet": _about(LEAFLET, "BSD-2-Clause"),
            "echarts": _about(ECHARTS, "Apache-2.0"),
            "zrender, in echarts": _about(ZRENDER, "BSD-3-Clause"),
            **{f"{_name(package)}, in protomaps": _about(package, spdx) for package, spdx in IN_MAP.items()},
        },
    )
    _manifest(tests, {".": _about(AXE, "MPL-2.0")})


def _bundled(module: str, packages: list[str], to: Path, folder: Path) -> Path:
    """Bundle the parts of npm packages that a module exports into one file, and return the folder of the packages."""
    folder.mkdir()
    (folder / "module.js").write_text(module)
    (folder / "package.json").write_text("{}")
    subprocess.run(["npm", "install", "--silent", *packages, ESBUILD], cwd=folder, check=True)  # noqa: S603, S607  # names of this file, npm of PATH
    options = ["--bundle", "--minify", "--format=esm", "--legal-comments=none", "--outfile=out.js"]
    subprocess.run(["node_modules/.bin/esbuild", "module.js", *options], cwd=folder, check=True)  # noqa: S603, S607  # constant command, inside node_modules
    _write(to, (folder / "out.js").read_bytes())
    return folder / "node_modules"


def _licenses(modules: Path, packages: Iterable[str]) -> bytes:
    """Join the license files of packages, each below the package's name; some packages have none of their own."""
    texts = []
    for package in packages:
        files = [path for path in (modules / _name(package)).iterdir() if path.name.upper().startswith("LICENSE")]
        texts += [f"{_name(package)}\n\n{path.read_text().strip()}\n" for path in files]
    return ("\n\n" + "-" * 78 + "\n\n").join(texts).encode()


def _name(package: str) -> str:
    return package.rpartition("@")[0]


def _unpacked(package: str, folder: Path) -> Path:
    folder.mkdir(parents=True)
    subprocess.run(["npm", "pack", "--silent", package], cwd=folder, check=True)  # noqa: S603, S607  # names of this file, npm of PATH
    (archive,) = folder.glob("*.tgz")
    with tarfile.open(archive) as tar:
        tar.extractall(folder, filter="data")
    return folder / "package"


def _without_map(script: bytes) -> bytes:
    """Leave out the line that names a source map: it is not copied, and collected files have to name what is there."""
    return re.sub(rb"\n?//# sourceMappingURL=\S+\s*$", b"\n", script)


def _sprite(lucide: Path) -> str:
    """Join the icons into one file; a page shows one with `<use href="…/sprite.svg#house">`."""
    symbols = []
    for name in sorted(ICONS.split()):
        drawing = (lucide / "icons" / f"{name}.svg").read_text()
        inner = re.sub(r"^.*?<svg[^>]*>|</svg>\s*$", "", drawing, flags=re.DOTALL)
        shapes = " ".join(inner.split())
        symbols.append(
            f'<symbol id="{name}" viewBox="0 0 24 24" fill="none" stroke="currentColor" stroke-width="2"'
            f' stroke-linecap="round" stroke-linejoin="round">{shapes}</symbol>'
        )
    return '<svg xmlns="http://www.w3.org/2000/svg">\n' + "\n".join(symbols) + "\n</svg>\n"


def _folder(package: str) -> str:
    """Name the folder of a library: `lucide` for lucide-static, `htmx` for htmx.org."""
    return re.split(r"[-.@]", package)[0]


def _about(package: str, license: str) -> dict[str, str]:
    name, _, version = package.rpartition("@")
    return {"package": name, "version": version, "license": license}


def _manifest(folder: Path, libraries: dict[str, dict[str, str]]) -> None:
    files = {
        path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name != "manifest.json"
    }
    manifest = {"libraries": libraries, "sha256": files}
    _write(folder / "manifest.json", (json.dumps(manifest, indent=2) + "\n").encode())


def _write(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


if __name__ == "__main__":
    main()
