// The board's map.  All that it shows stands in the list beside it, too: who cannot see it misses nothing.
const frame = document.getElementById("map");
const map = window.L.map(frame, { zoomControl: true, attributionControl: Boolean(frame.dataset.attribution) });
if (frame.dataset.tiles) window.L.tileLayer(frame.dataset.tiles, { attribution: frame.dataset.attribution }).addTo(map);
const layer = window.L.featureGroup().addTo(map);
const shown = new Map(); // marks of rides by their ids

const draw = () => {
  const points = JSON.parse(document.getElementById("map-points").textContent);
  layer.clearLayers();
  shown.clear();
  for (const one of points.facilities)
    window.L.circleMarker(one.at, { radius: 4, className: "map-facility" }).bindTooltip(one.text).addTo(layer);
  for (const one of points.rides) {
    const kind = `map-ride ${one.state}${one.late ? " late" : ""}`;
    if (one.to) window.L.polyline([one.at, one.to], { className: `${kind} way`, interactive: false }).addTo(layer);
    const mark = window.L.circleMarker(one.at, { radius: 7, className: kind }).bindTooltip(one.text).addTo(layer);
    mark.on("click", () => location.assign(one.url));
    shown.set(one.id, mark);
  }
  for (const one of points.drivers)
    window.L.circleMarker(one.at, { radius: 9, className: "map-driver" }).bindTooltip(one.text, { permanent: false }).addTo(layer);
  return points;
};

const points = draw();
const all = [...points.rides, ...points.drivers, ...points.facilities].map((one) => one.at);
if (all.length) map.fitBounds(window.L.latLngBounds(all).pad(0.05));
else map.setView([0, 0], 2);

document.addEventListener("carelane:swapped", (event) => {
  if (event.target.id === "map-part") draw();
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
