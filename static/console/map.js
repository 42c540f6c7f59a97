// The board's map: a base map from one file, vehicles, and the next stop of each ride.
//
// Rides that lie close together are drawn as one cluster.  Vehicles are one tab stop and rides another; arrow keys go
// through each, also through rides in a cluster.  The ride or driver that has the focus is drawn on top, with lines from
// pickup to drop-off.
import {
  labelRules,
  leafletLayer,
  LineSymbolizer,
  namedFlavor,
  paintRules,
  PMTiles,
  Supercluster,
} from "../vendor/protomaps/map.min.js";

const L = window.L;
const frame = document.getElementById("map");
const words = frame.dataset;
const map = L.map(frame, { zoomSnap: 1, maxZoom: 17, fadeAnimation: false, attributionControl: false });
const rideLayer = L.layerGroup().addTo(map);
const vehicleLayer = L.layerGroup().addTo(map);
const facilityLayer = L.layerGroup().addTo(map);
const chosenLayer = L.layerGroup().addTo(map);
const FORWARD = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 };
const ROOMY = 13; // the zoom level of a ride that is looked for

const stop = { ride: null, driver: null }; // ids of the marks with the tab stops
let points = { rides: [], drivers: [], facilities: [] };
let rides = new Map();
let drivers = new Map();
let clusters = new Supercluster();
let drawn = new Map(); // markers of rides and clusters by their keys
let vehicles = new Map(); // markers of drivers by their ids
let chosen = null; // { kind: "ride" | "driver", id }
let chosenMark = null;
let span = "soon";

// --- Marks ------------------------------------------------------------------------------------------
const shapes = Object.fromEntries(
  [...document.querySelectorAll("#map-shapes svg")].map((svg) => [svg.dataset.shape, svg]),
);
const picture = (shape, kind, turned) => {
  const svg = shapes[shape].cloneNode(true);
  svg.removeAttribute("data-shape");
  svg.setAttribute("class", `mark ${kind}`);
  svg.setAttribute("aria-hidden", "true");
  if (turned !== undefined) svg.style.rotate = `${turned}deg`;
  return svg;
};
const marker = (at, content, className, { size = 26, text = "", focusable = false, raised = 0 } = {}) => {
  const icon = L.divIcon({ html: content, className, iconSize: [size, size] });
  const mark = L.marker(at, { icon, keyboard: false, zIndexOffset: raised });
  mark.on("add", () => {
    const element = mark.getElement();
    if (!focusable) return element.setAttribute("aria-hidden", "true");
    element.setAttribute("role", "button");
    element.setAttribute("tabindex", "-1");
    element.setAttribute("aria-label", text);
  });
  return mark;
};
const rideMark = (ride, extra = "") => {
  const shape = ride.late || "stop";
  const mark = marker(ride.at, picture(shape, `${ride.state} ${ride.late}`), `map-mark ride ${extra}`, {
    text: ride.text,
    focusable: true,
    raised: extra ? 2000 : ride.late ? 500 : 0,
  });
  mark.on("add", () => {
    mark.getElement().dataset.ride = ride.id;
  });
  return mark.bindTooltip(ride.text, { direction: "top", offset: [0, -10] }).on("click", () => open("ride", ride.id));
};
const vehicleMark = (driver, extra = "") => {
  const hasHeading = driver.heading !== null && !driver.stale;
  const svg = picture(hasHeading ? "vehicle" : "parked", `vehicle ${driver.stale ? "stale" : ""}`, hasHeading ? driver.heading : undefined);
  const mark = marker(driver.at, svg, `map-mark vehicle ${extra}`, {
    size: 26,
    text: driver.text,
    focusable: true,
    raised: extra ? 2000 : 1000,
  });
  mark.on("add", () => {
    mark.getElement().dataset.driver = driver.id;
  });
  return mark.bindTooltip(driver.text, { direction: "top", offset: [0, -12] }).on("click", () => open("driver", driver.id));
};
const clusterMark = (feature) => {
  const { cluster_id: id, point_count: count, late } = feature.properties;
  const box = document.createElement("span");
  box.textContent = count;
  if (late) box.dataset.late = late; // drawn by the style sheet: the text is part of the label, which says it in words
  const size = 28 + Math.min(Math.round(Math.sqrt(count) * 3), 22);
  const label = words.cluster.replace("0", count) + (late ? `, ${words.late.replace("0", late)}` : "");
  const mark = marker(place(feature), box, `map-mark map-cluster ${late ? "has-late" : ""}`, {
    size,
    text: label,
    focusable: true,
    raised: late ? 500 : 0,
  });
  mark.on("add", () => {
    mark.getElement().dataset.cluster = id;
  });
  return mark.bindTooltip(label, { direction: "top", offset: [0, -size / 2] }).on("click", () => enlarge(id, place(feature)));
};
const enlarge = (id, at) => map.setView(at, Math.min(clusters.getClusterExpansionZoom(id), map.getMaxZoom()));
const place = (feature) => [...feature.geometry.coordinates].reverse();

// --- What is in view --------------------------------------------------------------------------------
const isInSpan = (ride) => span === "day" || ride.soon;
const group = () => {
  const visible = points.rides.filter(isInSpan);
  clusters = new Supercluster({
    radius: 42,
    maxZoom: 14,
    minPoints: 3,
    map: ({ late }) => ({ late }),
    reduce: (sum, one) => {
      sum.late += one.late;
    },
  }).load(
    visible.map((ride) => ({
      type: "Feature",
      geometry: { type: "Point", coordinates: [ride.at[1], ride.at[0]] },
      properties: { id: ride.id, late: ride.late ? 1 : 0 },
    })),
  );
};
const drawRides = () => {
  const view = map.getBounds().pad(0.25);
  const corners = [view.getWest(), view.getSouth(), view.getEast(), view.getNorth()];
  const before = drawn;
  drawn = new Map();
  for (const feature of clusters.getClusters(corners, map.getZoom())) {
    const key = feature.properties.cluster ? `cluster-${map.getZoom()}-${feature.id}` : feature.properties.id;
    const present = before.get(key);
    if (present) before.delete(key);
    drawn.set(key, present ?? (feature.properties.cluster ? clusterMark(feature) : rideMark(rides.get(key))).addTo(rideLayer));
  }
  before.forEach((mark) => rideLayer.removeLayer(mark));
  setStops();
};
const drawVehicles = () => {
  vehicleLayer.clearLayers();
  vehicles = new Map(points.drivers.map((driver) => [driver.id, vehicleMark(driver).addTo(vehicleLayer)]));
};
const elementOf = (kind, id) => {
  if (chosen?.kind === kind && chosen.id === id) return chosenMark?.getElement();
  return (kind === "driver" ? vehicles : drawn).get(id)?.getElement();
};
const orderOf = (kind) => (kind === "driver" ? points.drivers : points.rides.filter(isInSpan)).map((one) => one.id);
// If the ride with the tab stop is part of a cluster now, the first ride that is drawn gets it, else the first cluster.
const setStops = () => {
  frame.querySelectorAll('.map-mark[tabindex="0"]').forEach((one) => one.setAttribute("tabindex", "-1"));
  for (const kind of ["driver", "ride"]) {
    if (!elementOf(kind, stop[kind])) stop[kind] = orderOf(kind).find((id) => elementOf(kind, id)) ?? null;
    const element = elementOf(kind, stop[kind]) ?? (kind === "ride" && frame.querySelector(".map-cluster"));
    element?.setAttribute?.("tabindex", "0");
  }
};

// --- The ride or driver that is chosen ---------------------------------------------------------------
const line = (ride) => {
  if (!ride.to) return;
  L.polyline([ride.from, ride.to], { className: "map-way", interactive: false }).addTo(chosenLayer);
  marker(ride.from, picture("stop", ride.state), "map-mark", { size: 20 }).addTo(chosenLayer);
  marker(ride.to, picture("end", "end"), "map-mark", { size: 20, raised: 1500 }).addTo(chosenLayer);
};
const choose = (kind, id) => {
  chosenLayer.clearLayers();
  const one = (kind === "driver" ? drivers : rides).get(id);
  chosen = one ? { kind, id } : null;
  document.querySelectorAll(".map-vehicles button").forEach((button) => {
    button.setAttribute("aria-pressed", String(kind === "driver" && button.dataset.driver === id));
  });
  if (!one) return setStops();
  if (kind === "ride") line(one);
  else one.rides.forEach((ride) => line(rides.get(ride)));
  chosenMark = (kind === "driver" ? vehicleMark : rideMark)(one, "chosen").addTo(chosenLayer);
  stop[kind] = id;
  setStops();
};
const visit = (kind, id) => {
  choose(kind, id);
  const at = chosenMark.getLatLng();
  if (!map.getBounds().pad(-0.05).contains(at)) map.panTo(at, { animate: false });
  elementOf(kind, id)?.focus({ preventScroll: true });
  chosenMark.openTooltip();
};
const open = (kind, id) => {
  choose(kind, id);
  if (kind === "ride") document.dispatchEvent(new CustomEvent("carelane:look", { detail: { ride: id } }));
  else showDriver(drivers.get(id));
  if (kind === "ride") elementOf(kind, id)?.focus({ preventScroll: true });
};
const showDriver = (driver) => {
  const box = document.createElement("div");
  box.className = "map-popup";
  const name = Object.assign(document.createElement("strong"), { textContent: driver.name });
  const lines = [driver.status, [driver.unit, driver.age].filter(Boolean).join(" · ")].filter(Boolean);
  const link = Object.assign(document.createElement("a"), {
    className: "button small",
    href: `${document.getElementById("board").dataset.drivers}${driver.id}/`,
    textContent: words.day,
  });
  box.append(name, ...lines.map((text) => Object.assign(document.createElement("p"), { textContent: text })), link);
  L.popup({ closeButton: false, offset: [0, -8] }).setLatLng(driver.at).setContent(box).openOn(map);
  link.focus({ preventScroll: true });
};

// --- Keys, pointer, list -------------------------------------------------------------------------------
frame.addEventListener("keydown", (event) => {
  if (event.key === "Escape" && frame.querySelector(".map-popup")) {
    event.stopPropagation();
    map.closePopup();
    if (chosen) elementOf(chosen.kind, chosen.id)?.focus({ preventScroll: true });
    return;
  }
  const mark = event.target.closest(".map-mark");
  if (!mark) return;
  const kind = mark.dataset.driver ? "driver" : "ride";
  const id = mark.dataset[kind];
  if (event.key === "Enter" || event.key === " ") {
    event.preventDefault();
    if (mark.dataset.cluster) mark.click();
    else open(kind, id);
  } else if (FORWARD[event.key] || event.key === "Home" || event.key === "End") {
    event.preventDefault();
    event.stopPropagation(); // the map would move
    const ids = orderOf(kind);
    const next = id ? (ids.indexOf(id) + FORWARD[event.key] + ids.length) % ids.length : 0; // a cluster leads to the first
    visit(kind, ids[event.key === "Home" ? 0 : event.key === "End" ? ids.length - 1 : next]);
  }
});
frame.addEventListener("focusin", (event) => {
  const mark = event.target.closest(".map-mark");
  if (!mark || mark.dataset.cluster || !mark.matches(":focus-visible")) return;
  const kind = mark.dataset.driver ? "driver" : "ride";
  if (chosen?.kind !== kind || chosen.id !== mark.dataset[kind]) visit(kind, mark.dataset[kind]);
});
document.addEventListener("click", (event) => {
  const button = event.target.closest(".map-vehicles button");
  if (button) {
    const driver = drivers.get(button.dataset.driver);
    map.setView(driver.at, Math.max(map.getZoom(), ROOMY), { animate: false });
    choose("driver", driver.id);
    showDriver(driver);
  }
  const choice = event.target.closest("[data-span]");
  if (!choice) return;
  span = choice.dataset.span;
  document.querySelectorAll("[data-span]").forEach((one) => one.setAttribute("aria-pressed", String(one === choice)));
  group();
  drawRides();
});
// A card that has the focus or the pointer is shown where its rider waits.
for (const kind of ["focusin", "pointerover"])
  document.addEventListener(kind, (event) => {
    const id = event.target.closest?.(".about")?.id.slice(5);
    if (!id || !rides.has(id) || (chosen?.kind === "ride" && chosen.id === id)) return;
    choose("ride", id);
    if (!map.getBounds().contains(rides.get(id).at)) map.panTo(rides.get(id).at);
  });
document.addEventListener("carelane:closed", () => {
  if (chosen?.kind === "ride") elementOf("ride", chosen.id)?.focus({ preventScroll: true });
});
map.on("click", () => choose(null));

// --- Reading, now and after each change -----------------------------------------------------------------
const read = () => {
  points = JSON.parse(document.getElementById("map-points").textContent);
  rides = new Map(points.rides.map((ride) => [ride.id, ride]));
  drivers = new Map(points.drivers.map((driver) => [driver.id, driver]));
  if (!document.querySelector("[data-span]")) span = "day";
};
const drawAll = () => {
  const active = document.activeElement.closest?.(".map-mark")?.dataset;
  rideLayer.clearLayers();
  drawn = new Map();
  group();
  drawVehicles();
  drawRides();
  if (chosen) choose(chosen.kind, chosen.id);
  const [kind, id] = active ? (active.driver ? ["driver", active.driver] : ["ride", active.ride]) : [];
  if (kind) elementOf(kind, id)?.focus({ preventScroll: true });
};
const dialog = document.getElementById("board-dialog");
let isOld = false;
const isBusy = () => dialog.open || frame.querySelector(".map-popup") !== null;
// Marks do not move while a dialog or a popup is open.
const update = () => {
  isOld = isBusy();
  if (isOld) return;
  read();
  drawAll();
};
document.addEventListener("carelane:swapped", (event) => {
  if (event.target.id === "map-part") update();
});
const catchUp = () => isOld && update();
map.on("popupclose", () => setTimeout(catchUp, 0));
dialog.addEventListener("close", () => {
  catchUp();
  if (chosen) elementOf(chosen.kind, chosen.id)?.focus({ preventScroll: true });
});

// --- The base map ------------------------------------------------------------------------------------------
const isDark = () => getComputedStyle(document.documentElement).colorScheme === "dark" || (!document.documentElement.dataset.theme?.match(/light|dark/) && matchMedia("(prefers-color-scheme: dark)").matches);
const textOf = (html) => new DOMParser().parseFromString(html, "text/html").body.textContent;
// Paler than the library's own colors, so that marks stand out; expressways have a color of their own.
const COLORS = {
  light: { background: "#eef1f4", earth: "#f3f1ec", water: "#b9dbe8", park_b: "#d3e8cd", major: "#ffffff", highway: "#f0c987" },
  dark: { background: "#202832", earth: "#1d232b", water: "#16303f", park_b: "#1f3328", wood_a: "#1f3328", wood_b: "#1f3328", industrial: "#262d37", major: "#39434f", highway: "#6a5a3c" },
};
const widths = { 8: 1, 10: 2, 12: 3, 14: 5, 16: 9 };
const widthOf = (zoom) => widths[Math.min(Math.max(Math.round(zoom / 2) * 2, 8), 16)];
const rulesOf = (name) => {
  const flavor = { ...namedFlavor(name), ...COLORS[name] };
  const highways = {
    dataLayer: "roads",
    symbolizer: new LineSymbolizer({ color: flavor.highway, width: widthOf }),
    filter: (zoom, feature) => feature.props.kind === "highway",
  };
  return {
    backgroundColor: flavor.background,
    paintRules: [...paintRules(flavor), highways],
    labelRules: labelRules(flavor, document.documentElement.lang.slice(0, 2)),
  };
};
const drawBase = async () => {
  const tiles = new PMTiles(new URL(words.tiles, location.href).href);
  const header = await tiles.getHeader();
  let base = null;
  const paint = () => {
    base?.remove();
    base = leafletLayer({
      url: tiles,
      ...rulesOf(isDark() ? "dark" : "light"),
      maxDataZoom: header.maxZoom,
      bounds: [
        [header.minLat, header.minLon],
        [header.maxLat, header.maxLon],
      ],
      attribution: "",
    }).addTo(map);
  };
  paint();
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", paint);
  new MutationObserver(paint).observe(document.documentElement, { attributeFilter: ["data-theme"] });
  const about = await tiles.getMetadata(); // after the tiles have been requested
  document.getElementById("map-attribution").textContent = textOf(about?.attribution ?? words.attribution);
};

read();
const all = [...points.rides.filter(isInSpan), ...points.drivers, ...points.facilities].map((one) => one.at);
if (all.length) map.fitBounds(L.latLngBounds(all).pad(0.03));
else map.setView([0, 0], 2);
for (const one of points.facilities)
  marker(one.at, picture("facility", "facility"), "map-mark facility", { size: 24 })
    .bindTooltip(one.text, { direction: "top" })
    .addTo(facilityLayer);
drawAll();
map.on("moveend", drawRides);
const problem = document.getElementById("map-problem");
if (words.tiles)
  drawBase().catch(() => {
    problem.hidden = false;
  });
else problem.hidden = false;
