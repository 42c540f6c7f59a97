// The board's map.  All that it shows stands in the list beside it, too: who cannot see it misses nothing.
// The marks of rides are one tab stop, as the bars of the timeline are: arrows walk them in the order of time, and Enter
// opens what can be done.
const frame = document.getElementById("map");
const map = window.L.map(frame, { zoomControl: true, attributionControl: Boolean(frame.dataset.attribution) });
if (frame.dataset.tiles) window.L.tileLayer(frame.dataset.tiles, { attribution: frame.dataset.attribution }).addTo(map);
const layer = window.L.featureGroup().addTo(map);
const shown = new Map(); // marks of rides by their ids, in the order of time
const STEPS = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 };
let here = null; // the ride whose mark has the tab stop

const action = (text, url, attributes = {}) => {
  const link = document.createElement("a");
  link.className = "button small";
  link.href = url;
  link.textContent = text;
  Object.entries(attributes).forEach(([name, value]) => link.setAttribute(name, value));
  return link;
};
// The dialog that Assign opens is the board's own (board.js).
const popup = (one) => {
  const box = document.createElement("div");
  box.className = "map-popup";
  box.dataset.ride = one.id;
  const text = document.createElement("p");
  text.textContent = one.text;
  box.append(text, action(frame.dataset.details, one.url));
  if (one.assign) box.append(action(frame.dataset.assign, one.assign, { "data-dialog": "" }));
  return box;
};
const elementOf = (id) => shown.get(id)?.getElement();
const stop = (id) => {
  elementOf(here)?.setAttribute("tabindex", "-1");
  here = shown.has(id) ? id : shown.keys().next().value;
  elementOf(here)?.setAttribute("tabindex", "0");
};
const visit = (id) => {
  stop(id);
  if (!map.getBounds().contains(shown.get(id).getLatLng())) map.panTo(shown.get(id).getLatLng());
  elementOf(id).focus({ preventScroll: true });
};

const read = () => JSON.parse(document.getElementById("map-points").textContent);
const draw = (points) => {
  layer.clearLayers();
  shown.clear();
  for (const one of points.facilities)
    window.L.circleMarker(one.at, { radius: 4, className: "map-facility" }).bindTooltip(one.text).addTo(layer);
  for (const one of points.rides) {
    const kind = `map-ride ${one.state}${one.late ? " late" : ""}`;
    if (one.to) window.L.polyline([one.at, one.to], { className: `${kind} way`, interactive: false }).addTo(layer);
    const mark = window.L.circleMarker(one.at, { radius: 7, className: kind }).bindTooltip(one.text).addTo(layer);
    mark.bindPopup(() => popup(one), { closeButton: false });
    mark.on("popupopen", (event) => {
      stop(one.id);
      event.popup.getElement().querySelector("a").focus({ preventScroll: true });
    });
    shown.set(one.id, mark);
    const attributes = { role: "button", tabindex: "-1", "aria-label": one.text, "data-ride": one.id };
    Object.entries(attributes).forEach(([name, value]) => mark.getElement().setAttribute(name, value));
  }
  for (const one of points.drivers)
    window.L.circleMarker(one.at, { radius: 9, className: "map-driver" }).bindTooltip(one.text, { permanent: false }).addTo(layer);
  stop(here);
};

const points = read();
const all = [...points.rides, ...points.drivers, ...points.facilities].map((one) => one.at);
// Marks have an element as soon as the map knows what it shows.
if (all.length) map.fitBounds(window.L.latLngBounds(all).pad(0.05));
else map.setView([0, 0], 2);
draw(points);

// Nothing moves under a person's hands: what is new is drawn when the popup is closed and the dialog, too.
const dialog = document.getElementById("board-dialog");
let late = false;
const redraw = () => {
  late = dialog.open || frame.querySelector(".map-popup") !== null;
  if (late) return;
  const focused = frame.contains(document.activeElement) && document.activeElement.dataset.ride;
  draw(read());
  if (focused) elementOf(here)?.focus({ preventScroll: true });
};
document.addEventListener("carelane:swapped", (event) => {
  if (event.target.id === "map-part") redraw();
});
map.on("popupclose", () => setTimeout(() => late && redraw(), 300)); // it fades out first
dialog.addEventListener("close", () => {
  map.closePopup();
  elementOf(here)?.focus({ preventScroll: true });
});
frame.addEventListener("keydown", (event) => {
  if (event.key === "Escape" && frame.querySelector(".map-popup")) {
    event.stopPropagation();
    map.closePopup();
    elementOf(here).focus({ preventScroll: true });
    return;
  }
  const ids = [...shown.keys()];
  const at = ids.indexOf(event.target.dataset.ride);
  if (at < 0 || event.target.matches(".map-popup *")) return;
  if (event.key === "Enter" || event.key === " ") {
    event.preventDefault();
    shown.get(ids[at]).openPopup();
  } else if (STEPS[event.key]) {
    event.preventDefault();
    event.stopPropagation(); // the map would move
    visit(ids[(at + STEPS[event.key] + ids.length) % ids.length]);
  }
});
// A card that has the focus, or the pointer, is shown where it waits.
for (const kind of ["focusin", "pointerover"])
  document.addEventListener(kind, (event) => {
    const id = event.target.closest?.(".about")?.id.slice(5);
    const mark = id && shown.get(id);
    if (!mark) return;
    mark.openTooltip();
    if (!map.getBounds().contains(mark.getLatLng())) map.panTo(mark.getLatLng());
  });
