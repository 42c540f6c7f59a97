// The dispatch board: keys, dragging, the dialog and the panel, and what changes while one looks.
// All of it has a way without script: cards and bars are links, and what is done to a ride is a form at an address.
import { newer, replace } from "./fragments.js";
import { announce, toast } from "./toast.js";

const board = document.getElementById("board");
const timeline = document.getElementById("timeline");
const driverRows = document.getElementById("driver-rows");
const queue = document.getElementById("queue");
const panel = document.getElementById("panel");
const dialog = document.getElementById("board-dialog");
const token = document.querySelector("#board [name=csrfmiddlewaretoken]").value;
const words = document.getElementById("board-words").dataset;
const BACKGROUND = { "X-Carelane-Background": "board" };
const UNDO_SECONDS = 10;

const rideOf = (element) => element?.closest("[id^='ride-']")?.id.slice(5) ?? element?.closest("[data-ride]")?.dataset.ride;
const shownRide = (id) => document.getElementById(`ride-${id}`);
const versionOf = (id) => {
  const rideElement = shownRide(id);
  return rideElement?.dataset.version ?? rideElement?.closest("[data-version]")?.dataset.version;
};
const addressOf = (id, act = "") => `${board.dataset.rides}${id}/${act}`;
const barsOf = (driverRow) => [...driverRow.querySelectorAll(".bar")].sort((a, b) => startOf(a) - startOf(b));
const startOf = (bar) => Number(getComputedStyle(bar).getPropertyValue("--s"));

// --- One tab stop for all bars ------------------------------------------------------------------
const settle = () => {
  if (!driverRows) return;
  const bars = [...driverRows.querySelectorAll(".bar")];
  const here = bars.find((bar) => bar.dataset.stop) ?? bars.find((bar) => bar === document.activeElement) ?? bars[0];
  bars.forEach((bar) => {
    // The server leaves the address out of 1,500 bars: it would be a fifth of the page.
    bar.href = addressOf(bar.id.slice(5));
    bar.tabIndex = bar === here ? 0 : -1;
  });
};
const enter = (bar) => {
  if (!bar) return;
  driverRows.querySelectorAll(".bar[data-stop]").forEach((one) => delete one.dataset.stop);
  bar.dataset.stop = "true";
  settle();
  bar.focus();
  bar.scrollIntoView({ block: "nearest", inline: "nearest" });
};

const nearest = (driverRow, at) =>
  barsOf(driverRow).reduce((best, bar) => (!best || Math.abs(startOf(bar) - at) < Math.abs(startOf(best) - at) ? bar : best), null);

const walk = (event, bar) => {
  const driverRow = bar.closest(".driver-row");
  const bars = barsOf(driverRow);
  const at = bars.indexOf(bar);
  const ahead = getComputedStyle(driverRows).direction === "rtl" ? -1 : 1;
  const next = (step) => {
    let other = driverRow;
    do other = step > 0 ? other.nextElementSibling : other.previousElementSibling;
    while (other && !other.querySelector(".bar"));
    return other && nearest(other, startOf(bar));
  };
  const to = {
    ArrowRight: () => bars[at + ahead],
    ArrowLeft: () => bars[at - ahead],
    ArrowDown: () => next(1),
    ArrowUp: () => next(-1),
    Home: () => bars[0],
    End: () => bars.at(-1),
  }[event.key];
  if (!to) return false;
  event.preventDefault();
  if (event.shiftKey && (event.key === "ArrowUp" || event.key === "ArrowDown")) choose(rideOf(bar), true);
  enter(to());
  if (event.shiftKey) choose(rideOf(document.activeElement), true);
  return true;
};

// --- A selection ----------------------------------------------------------------------------------
const chosen = new Set();
const bar = document.getElementById("selection");
const choose = (id, on = !chosen.has(id)) => {
  if (!id) return;
  if (on) chosen.add(id);
  else chosen.delete(id);
  showChosen();
};
const showChosen = () => {
  document.querySelectorAll(".is-chosen").forEach((one) => one.classList.remove("is-chosen"));
  for (const id of chosen) {
    const rideElement = shownRide(id);
    if (rideElement) (rideElement.closest(".ride-card") ?? rideElement).classList.add("is-chosen");
    else chosen.delete(id);
  }
  if (!bar) return;
  bar.hidden = chosen.size === 0;
  bar.querySelector(".chosen-count").textContent = words.chosen.replace("0", chosen.size);
  bar.querySelectorAll("input[name=ride]").forEach((input) => input.remove());
  for (const id of chosen) {
    const input = document.createElement("input");
    Object.assign(input, { type: "hidden", name: "ride", value: `${id}:${versionOf(id)}` });
    bar.append(input);
  }
  announce(chosen.size ? words.chosen.replace("0", chosen.size) : "");
};

// --- The dialog, the panel, and what is sent --------------------------------------------------------
let returnTo = null; // the ride that had the focus before a dialog opened

const openDialog = async (address, id) => {
  returnTo = id;
  await window.htmx.ajax("GET", address, { target: "#dialog-body", swap: "innerHTML" });
};
const send = (address, values, headers = {}) =>
  window.htmx.ajax("POST", address, {
    target: "#dialog-body",
    swap: "innerHTML",
    values: { csrfmiddlewaretoken: token, ...values },
    headers,
  });
const assign = (id, driver) => send(addressOf(id, "assign/"), { driver_id: driver, version: versionOf(id) });

// What htmx puts into the dialog opens it; an answer of the sign-in page means that the session is over.
document.addEventListener("htmx:before:swap", (event) => {
  if (event.detail.ctx?.response?.raw?.redirected) {
    event.preventDefault();
    location.reload();
  }
});
document.addEventListener("htmx:after:swap", (event) => {
  const body = document.getElementById("dialog-body");
  if (event.detail.ctx?.target !== body || !body.firstElementChild) return;
  if (!dialog.open) dialog.showModal();
  (body.querySelector("[autofocus]") ?? body.querySelector("input, select, button"))?.focus();
});
dialog.addEventListener("click", (event) => {
  if (event.target.closest("[data-cancel]") || event.target === dialog) dialog.close();
});
dialog.addEventListener("close", () => {
  document.getElementById("dialog-body").replaceChildren();
  focusRide(returnTo);
});
const focusRide = (id) => {
  const rideElement = id && shownRide(id);
  if (!rideElement) return;
  if (rideElement.classList.contains("bar")) enter(rideElement);
  else rideElement.focus();
};

const confirm = (message, undo) =>
  toast(message, {
    action: undo ? words.undo : "",
    seconds: UNDO_SECONDS,
    run: undo ? () => send(undo.url, undo.values) : null,
  });
// The list and the map are a part of the page that is fetched anew (live.js), here also under the focus.
const renew = async () => {
  const part = document.querySelector("#day-rows, #map-part");
  const answer = await fetch(part.dataset.liveUrl, { headers: BACKGROUND, cache: "no-store", redirect: "error" }).catch(() => null);
  const next = answer?.ok ? newer(part, await answer.text()) : null;
  if (!next) return;
  replace(part, next);
  next.dispatchEvent(new CustomEvent("carelane:swapped", { bubbles: true }));
};
const focusElsewhere = (id) => {
  if (document.activeElement !== document.body) return;
  const rideElement = document.querySelector(`#row-${id} th a, #map .map-mark[data-ride="${id}"]`) ?? document.getElementById("main");
  rideElement.focus({ preventScroll: true });
};

document.addEventListener("carelane:done", async (event) => {
  const { message, ride, driver, undo } = event.detail;
  if (dialog.open) dialog.close();
  chosen.clear();
  if (!driverRows) {
    await renew();
    if (panel && !panel.hidden && panel.dataset.ride === ride) look(ride);
    focusElsewhere(ride);
    return confirm(message, undo);
  }
  await refresh({ rides: ride ? [ride] : [], drivers: [...(driver ? [driver] : []), ...driverOfRide(ride)] });
  showChosen();
  focusRide(ride);
  confirm(message, undo);
  if (panel && !panel.hidden && panel.dataset.ride === ride) look(ride);
});
document.addEventListener("carelane:refused", (event) => {
  if (dialog.open) dialog.close();
  toast(event.detail.message, { kind: "error" });
  if (driverRows) refresh(WHOLE);
  else renew();
});

const look = async (id) => {
  if (!panel) return location.assign(addressOf(id));
  panel.dataset.ride = id;
  await window.htmx.ajax("GET", addressOf(id), { target: "#panel", swap: "innerHTML" });
  const close = document.createElement("button");
  Object.assign(close, { type: "button", className: "icon-button close", textContent: "×", ariaLabel: words.close });
  close.addEventListener("click", closePanel);
  panel.prepend(close);
  panel.hidden = false;
  history.replaceState(null, "", `#ride-${id}`);
};
const closePanel = () => {
  panel.hidden = true;
  panel.replaceChildren();
  history.replaceState(null, "", location.pathname + location.search);
  focusRide(panel.dataset.ride);
  document.dispatchEvent(new Event("carelane:closed"));
};
document.addEventListener("carelane:look", (event) => look(event.detail.ride)); // from the map

document.addEventListener("click", (event) => {
  if (event.metaKey || event.ctrlKey || event.shiftKey || event.button) return;
  const link = event.target.closest("a");
  if (link?.hasAttribute("data-dialog")) {
    event.preventDefault();
    openDialog(link.href, rideOf(link) ?? panel?.dataset.ride);
  } else if (panel && link && (link.classList.contains("bar") || link.classList.contains("about"))) {
    event.preventDefault();
    if (link.classList.contains("bar")) enter(link);
    look(rideOf(link));
  }
});
document.addEventListener("submit", (event) => {
  const form = event.target;
  if (!form.hasAttribute("data-act")) return;
  event.preventDefault();
  send(form.action, Object.fromEntries(new FormData(form)));
});

// --- Keys -----------------------------------------------------------------------------------------
const firstCard = () => queue?.querySelector(".about");
const nextCard = (card, step) => {
  const cards = [...queue.querySelectorAll(".about")];
  return cards[cards.indexOf(card) + step];
};
// --- A driver's row -------------------------------------------------------------------------------
const outAddress = (row) => `${board.dataset.drivers}${row.dataset.driver}/out/`;
// The link to report a driver out is added where the pointer or the focus is: 80 rows would be longer by it.
const offerOut = (event) => {
  const row = event.target.closest(".driver-row");
  const name = row?.querySelector(".who strong");
  if (!name || row.querySelector(".out")) return;
  const link = document.createElement("a");
  Object.assign(link, { className: "out button small", href: outAddress(row), textContent: words.out });
  name.after(link);
};
driverRows?.addEventListener("pointerover", offerOut);
driverRows?.addEventListener("focusin", offerOut);

const act = {
  o: (id, target) => {
    const row = target.closest(".driver-row") ?? shownRide(id)?.closest(".driver-row");
    if (row) location.assign(outAddress(row));
  },
  q: () => firstCard()?.focus(),
  a: (id) => id && openDialog(addressOf(id, "assign/"), id),
  u: (id) => id && openDialog(addressOf(id, "unassign/"), id),
  r: (id) => id && shownRide(id)?.closest(".will-call") && send(addressOf(id, "ready/"), {}),
  x: (id) => choose(id),
  t: () => toNow(),
  "+": () => scale(1),
  "-": () => scale(-1),
  "[": () => document.querySelector("[data-key='[']").click(),
  "]": () => document.querySelector("[data-key=']']").click(),
};
document.addEventListener("keydown", (event) => {
  if (event.altKey || event.ctrlKey || event.metaKey || dialog.open) return;
  if (event.target.closest("input, select, textarea, dialog")) return;
  const onBar = event.target.closest(".bar");
  if (onBar && walk(event, onBar)) return;
  const card = event.target.closest(".about");
  if (card && (event.key === "ArrowDown" || event.key === "ArrowUp")) {
    event.preventDefault();
    nextCard(card, event.key === "ArrowDown" ? 1 : -1)?.focus();
    return;
  }
  if (event.key === "Escape" && panel && !panel.hidden) return closePanel();
  if (event.key === "Escape" && chosen.size) {
    chosen.clear();
    return showChosen();
  }
  if (document.body.dataset.singleKeys === "off" || !(event.key in act)) return;
  event.preventDefault();
  act[event.key](rideOf(event.target) ?? (panel && !panel.hidden ? panel.dataset.ride : undefined), event.target);
});
// In the dialog: arrows walk the drivers while one types, Enter takes the one that is marked.
dialog.addEventListener("input", (event) => {
  if (!event.target.hasAttribute("data-find")) return;
  const searchWords = event.target.value.toLowerCase().split(/\s+/).filter(Boolean);
  const rows = [...dialog.querySelectorAll(".candidate")];
  rows.forEach((row) => (row.hidden = !searchWords.every((word) => row.querySelector(".who").textContent.toLowerCase().includes(word))));
  const first = rows.find((row) => !row.hidden);
  dialog.querySelectorAll(".not-fitting").forEach((group) => {
    group.open = searchWords.length > 0 && Boolean(group.querySelector(".candidate:not([hidden])"));
  });
  if (first) first.querySelector("input").checked = true;
});
dialog.addEventListener("keydown", (event) => {
  if (!event.target.hasAttribute("data-find") || !["ArrowDown", "ArrowUp"].includes(event.key)) return;
  event.preventDefault();
  const rows = [...dialog.querySelectorAll(".candidate:not([hidden]) input")].filter((row) => row.checkVisibility());
  const at = rows.findIndex((row) => row.checked);
  const next = rows[event.key === "ArrowDown" ? Math.min(at + 1, rows.length - 1) : Math.max(at - 1, 0)];
  if (!next) return;
  next.checked = true;
  next.closest(".candidate").scrollIntoView({ block: "nearest" });
  announce(next.closest(".candidate").textContent);
});

// --- Dragging -------------------------------------------------------------------------------------
let dragged = null;
// What is pressed can be dragged: a mark on each of 1,500 bars would cost every load.
document.addEventListener("pointerdown", (event) => {
  const taken = event.target.closest(".ride-card, .driver-row .bar");
  if (taken) taken.draggable = true;
});
document.addEventListener("dragstart", (event) => {
  dragged = rideOf(event.target);
  if (!dragged) return;
  event.dataTransfer.effectAllowed = "move";
  event.dataTransfer.setData("text/plain", "");
  event.target.closest(".ride-card, .bar")?.classList.add("dragged");
});
document.addEventListener("dragend", () => {
  document.querySelectorAll(".dragged, .drop").forEach((one) => one.classList.remove("dragged", "drop"));
  dragged = null;
  swapHeld();
});
const targetOf = (event) => dragged && event.target.closest?.(".driver-row, .queue");
document.addEventListener("dragover", (event) => {
  const target = targetOf(event);
  document.querySelectorAll(".drop").forEach((one) => one !== target && one.classList.remove("drop"));
  if (!target) return;
  event.preventDefault();
  target.classList.add("drop");
});
document.addEventListener("drop", (event) => {
  const target = targetOf(event);
  const id = dragged;
  if (!target || !id) return;
  event.preventDefault();
  returnTo = id;
  const from = driverOfRide(id)[0];
  if (target.classList.contains("driver-row")) {
    if (target.dataset.driver !== from) assign(id, target.dataset.driver);
  } else if (from) openDialog(addressOf(id, "unassign/"), id);
});

// --- What changes -----------------------------------------------------------------------------------
const driverOfRide = (id) => {
  const driverRow = id && shownRide(id)?.closest(".driver-row");
  return driverRow ? [driverRow.dataset.driver] : [];
};
const WHOLE = { rides: [], drivers: [] }; // names nothing, and so asks for everything
let held = null; // what changed during a drag, and waits for its end

const isWhole = ({ rides, drivers }) => !rides.length && !drivers.length;
// An address holds so many names, and the server looks at so many one by one; with more, everything is asked for.
const bounded = (names) => (names.rides.length + names.drivers.length > Number(board.dataset.most) ? WHOLE : names);
const joined = (one, other) => {
  if (isWhole(one) || isWhole(other)) return WHOLE;
  const both = (kind) => [...new Set([...one[kind], ...other[kind]])];
  return bounded({ rides: both("rides"), drivers: both("drivers") });
};

const refresh = async (names) => {
  const { rides, drivers } = bounded(names);
  if (dragged) {
    held = held ? joined(held, { rides, drivers }) : { rides, drivers };
    return;
  }
  if (!driverRows) return; // the list and the map ask for themselves (live.js)
  const changesUrl = new URL(board.dataset.changes, location.href);
  const here = new URL(location.href);
  for (const name of ["day", "show", "zone", "facility", "provider"]) if (here.searchParams.get(name)) changesUrl.searchParams.set(name, here.searchParams.get(name));
  rides.forEach((id) => changesUrl.searchParams.append("ride", id));
  drivers.forEach((id) => changesUrl.searchParams.append("driver", id));
  let text;
  try {
    const answer = await fetch(changesUrl, { headers: BACKGROUND, cache: "no-store", redirect: "error" });
    if (!answer.ok) return;
    text = await answer.text();
  } catch {
    return; // no network, or the session is over: the badge says so
  }
  swap(new DOMParser().parseFromString(text, "text/html"));
};
const swapHeld = () => {
  const waiting = held;
  held = null;
  if (waiting) refresh(waiting);
};

// The answer has the rows of some drivers: what is late is counted from all rows of the page.
const recount = (kind, tone, waiting) => {
  const counter = document.querySelector(`[data-counter=${kind}]`);
  const count = [...driverRows.children].reduce((sum, driverRow) => sum + Number(driverRow.dataset[kind]), waiting);
  counter.querySelector("strong").textContent = count;
  counter.classList.toggle(tone, count > 0);
  counter.classList.toggle("quiet", count === 0);
};
const swap = (changed) => {
  const focused = rideOf(document.activeElement);
  const offset = timeline.scrollTop;
  const news = changed.getElementById("driver-rows");
  if (news.hasAttribute("data-full")) {
    const there = new Set([...news.children].map((driverRow) => driverRow.id));
    [...driverRows.children].forEach((driverRow) => there.has(driverRow.id) || driverRow.remove());
  }
  for (const id of news.dataset.removed.split(" ").filter(Boolean)) document.getElementById(`driver-row-${id}`)?.remove();
  for (const driverRow of [...news.children]) {
    const present = document.getElementById(driverRow.id);
    if (!present) driverRows.append(driverRow);
    else if (present.outerHTML !== driverRow.outerHTML) present.replaceWith(driverRow);
  }
  const cards = changed.getElementById("queue");
  queue.replaceChildren(...cards.childNodes);
  const counters = changed.getElementById("counters");
  document.getElementById("counters").replaceChildren(...counters.childNodes);
  recount("late", "bad", Number(counters.dataset.waitingLate));
  recount("risk", "warn", Number(counters.dataset.waitingRisk));
  settle();
  timeline.scrollTop = offset;
  showChosen();
  if (focused && rideOf(document.activeElement) !== focused) focusRide(focused);
};

document.addEventListener("carelane:changes", (event) => {
  const { changes, resync } = event.detail;
  if (resync) return refresh(WHOLE);
  const of = (subject) => [...new Set(changes.filter((one) => one.subject === subject).map((one) => one.id))];
  const rides = of("ride");
  const drivers = [...of("driver"), ...rides.flatMap(driverOfRide)];
  if (rides.length || drivers.length) refresh({ rides, drivers: [...new Set(drivers)] });
});

// --- Where one looks ----------------------------------------------------------------------------------
const SCALES = 5;
const scale = (step) => {
  if (!timeline) return;
  const was = Number(board.dataset.scale ?? 2);
  const now = Math.min(Math.max(was + step, 0), SCALES - 1);
  board.dataset.scale = now;
  localStorage.setItem("carelane.board.scale", now);
  toNow();
};
const minuteNow = () => (Date.now() - Date.parse(board.dataset.start)) / 60000;
const toNow = () => {
  if (!timeline) return;
  const px = parseFloat(getComputedStyle(board).getPropertyValue("--px"));
  const at = "today" in board.dataset ? minuteNow() - 60 : 60;
  timeline.scrollLeft = Math.max(at, 0) * px * (getComputedStyle(board).direction === "rtl" ? -1 : 1);
};
const tick = () => {
  document.querySelector(".now i")?.style.setProperty("--s", Math.min(Math.max(minuteNow(), 0), Number(board.dataset.minutes)));
};

if (timeline) {
  document.querySelectorAll(".tools, .switch").forEach((one) => (one.hidden = false));
  board.dataset.part = "queue";
  board.dataset.scale = localStorage.getItem("carelane.board.scale") ?? 2;
  document.querySelectorAll("[data-zoom]").forEach((one) => one.addEventListener("click", () => scale(Number(one.dataset.zoom))));
  document.querySelector("[data-now]")?.addEventListener("click", toNow);
  const parts = [...document.querySelectorAll("[data-part][aria-pressed]")];
  parts.forEach((one) =>
    one.addEventListener("click", () => {
      board.dataset.part = one.dataset.part;
      parts.forEach((other) => other.setAttribute("aria-pressed", String(other === one)));
      if (one.dataset.part === "drivers") toNow();
    }),
  );
  toNow();
  // Back leads to where one was: how far the parts of the board are scrolled is no business of the browser's.
  const panes = [timeline, queue];
  history.state?.scrolled?.forEach(([left, top], at) => panes[at].scrollTo(left, top));
  // Kept as they scroll: to ask as the page is left has 1,500 bars styled once more, which the next page waits for.
  let scrolled = null;
  panes.forEach((pane) =>
    pane.addEventListener("scroll", () => (scrolled = panes.map((one) => [one.scrollLeft, one.scrollTop])), { passive: true }),
  );
  addEventListener("pagehide", () => scrolled && history.replaceState({ scrolled }, ""));
  tick();
  setInterval(tick, 30000);
  settle();
  // The clock alone makes rides late.
  setInterval(() => document.hidden || refresh(WHOLE), 60000);
  if (location.hash.startsWith("#ride-")) look(location.hash.slice(6));
}
