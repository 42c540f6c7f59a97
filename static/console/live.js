// Keeps a page current: hears what has changed as it is committed, and says so to the page's other modules.
//
//   document.addEventListener("carelane:changes", ({ detail }) => ...)
//     detail.changes   [{ subject: "ride", id: "<uuid>", type: "ride.assigned" }, ...]; ids alone, never data
//     detail.resync    true where something may have been missed: look at everything again
//   document.addEventListener("carelane:leads", ...) when this tab becomes the one that holds the stream (`leads()`)
//
// A page asks for it with `data-live` on <body> ({% block body_attributes %} data-live{% endblock %}).
//
// A part of a page that needs no module of its own for it:
//   <div id="count" data-live-url="/console/inbox/" data-live-on="ride.exception standing_order">...</div>
// is fetched from `data-live-url` after a change whose subject is one of the words or whose type begins with one, and
// takes the place of the element with its id; not under a person's hands: while the focus is inside it waits.  The new
// element gets the event "carelane:swapped", which bubbles, for modules that have to bind something to it.
//
// One tab of a browser holds the stream, by a lock, and passes on what it hears to the others; when it is closed the
// lock goes to another one.  Where there are no locks (plain http), no stream, or one that says nothing for 45 seconds,
// the page asks every five.
import { newer, replace } from "./fragments.js";
import { announce } from "./toast.js";

const COLLECT = 60; // milliseconds, all of these
const SPREAD = 1_000;
const POLL = 5_000;
const SILENT = 45_000; // a stream says at least "alive" every 20 seconds
const STALE = 30_000;
const RETRY = { first: 2_000, longest: 60_000 };
const EVERY = 2_000; // a part is fetched at most this often; the first time at once
const LONGEST_AGE = 3_600; // seconds that the server looks back
const HEADERS = { "X-Carelane-Background": "live" }; // what a page does by itself keeps no session alive

const badge = document.getElementById("live");
const name = `carelane-live-${badge.dataset.person}`;
const channel = "locks" in navigator && "BroadcastChannel" in window ? new BroadcastChannel(name) : null;
const begun = Date.now();

let known = false; // whether anything was heard yet
let heardAt = begun; // last word of the stream, in this tab or from the one that holds it
let currentAt = performance.timeOrigin; // until then the page is known to show what is
let lostAt = 0; // since when that is not known any more; 0 while it is
let skew = 0; // of the server's clock against ours
let cursor = ""; // of the answers to polling
let leading = channel === null;
let source = null; // the stream, of the tab that leads
let open = false;
let retry = RETRY.first;

// Whether this tab is the one to do what a browser does once: the one that holds the stream; without locks, each is.
export const leads = () => leading;

// --- Telling the page

let collected = new Map();
let resync = false;
let timer = 0;

const dispatch = () => {
  const detail = { changes: [...collected.values()], resync };
  collected = new Map();
  resync = false;
  timer = 0;
  document.dispatchEvent(new CustomEvent("carelane:changes", { detail }));
};

const collect = (changes, all = false) => {
  changes.forEach((one) => collected.set(`${one.subject} ${one.id} ${one.type}`, one));
  resync ||= all;
  // Everybody looks at everything in the same moment otherwise.
  const wait = resync ? COLLECT + Math.random() * SPREAD : COLLECT;
  if (collected.size || resync) timer ||= setTimeout(dispatch, wait);
};

// --- Telling the person

const clock = new Intl.DateTimeFormat("twelveHours" in badge.dataset ? `${document.documentElement.lang.slice(0, 2)}-US` : "en-GB", {
  timeZone: badge.dataset.zone,
  hour: "2-digit",
  minute: "2-digit",
});

const show = () => {
  if (!known && !lostAt) return;
  const state = !lostAt ? "live" : Date.now() - lostAt > STALE ? "stale" : "reconnecting";
  const before = badge.dataset.state;
  if (state === before) return;
  badge.dataset.state = state;
  badge.textContent = badge.dataset[state].replace("{time}", clock.format(currentAt + skew));
  badge.hidden = false;
  if (state === "stale" || before === "stale") announce(badge.textContent);
};

// --- Hearing

const lose = () => {
  lostAt ||= Date.now();
  show();
};

const catchUp = async (since) => {
  try {
    const reply = await ask(`age=${secondsSince(since)}`);
    collect(reply.changes, reply.resync);
  } catch {
    collect([], true);
  }
};

// A word of the stream or of polling, in this tab or passed on by the one that leads.  What this tab asked for by
// itself (`ours`) begins where the page does; all else begins later, and what lies between is asked for.
const take = (word) => {
  heardAt = Date.now();
  if (word.at) skew = word.at - heardAt;
  if (word.kind === "lost") {
    lose();
    return;
  }
  const since = currentAt;
  currentAt = heardAt;
  lostAt = 0;
  if (!word.ours) cursor = "";
  if (!known) {
    known = true;
    if (!word.ours) catchUp(since);
  } else if (word.kind === "ready") {
    collect([], true);
  }
  if (word.kind === "changes") collect(word.changes, word.resync);
  show();
};

const pass = (word, more = {}) => {
  channel?.postMessage(word);
  take({ ...word, ...more });
};

const secondsSince = (moment) => Math.max(0, Math.ceil((Date.now() - moment) / 1000));

const ask = async (query) => {
  const headers = cursor ? { ...HEADERS, "If-None-Match": `"${cursor}"` } : HEADERS;
  const answer = await fetch(`${badge.dataset.changes}?${query}`, { headers, cache: "no-store", redirect: "manual" });
  if (answer.type === "opaqueredirect") location.assign(location.pathname + location.search); // the session is over
  if (answer.status === 204 || answer.status === 304) return { changes: [], resync: false, cursor };
  if (answer.status === 400) cursor = ""; // of other rights
  if (!answer.ok) throw new Error(String(answer.status));
  return answer.json();
};

const poll = async () => {
  const age = secondsSince(currentAt);
  const tooLong = !cursor && age > LONGEST_AGE;
  try {
    const reply = await ask(cursor ? `after=${encodeURIComponent(cursor)}` : `age=${tooLong ? 0 : age}`);
    cursor = reply.cursor;
    const word = { kind: "changes", changes: reply.changes, resync: reply.resync || tooLong };
    if (leading) {
      pass(word, { ours: true });
    } else {
      const heardBefore = heardAt;
      take({ ...word, ours: true });
      heardAt = heardBefore; // it is still the tab that leads that says nothing
    }
  } catch {
    if (leading) pass({ kind: "lost" });
    else lose();
  }
};

let polling = false;
const tick = async () => {
  const silent = Date.now() - heardAt > SILENT;
  if (silent && open) {
    // A computer that slept, or a network that lost the connection without a word.
    source.close();
    open = false;
    listen();
  }
  if (!polling && (silent || (leading && !open))) {
    polling = true;
    await poll();
    polling = false;
  }
  show();
};

const listen = () => {
  source = new EventSource(badge.dataset.stream);
  source.addEventListener("ready", ({ data }) => {
    open = true;
    retry = RETRY.first;
    pass({ kind: "ready", at: Number(data) });
  });
  source.addEventListener("alive", ({ data }) => pass({ kind: "alive", at: Number(data) }));
  source.addEventListener("changes", ({ data }) => pass({ kind: "changes", changes: JSON.parse(data) }));
  source.addEventListener("resync", () => pass({ kind: "changes", changes: [], resync: true }));
  source.addEventListener("error", () => {
    if (open) pass({ kind: "lost" });
    open = false;
    if (source.readyState === EventSource.CLOSED) {
      // No stream here, or a proxy in front of a server that is away: browsers give up then.
      setTimeout(listen, retry);
      retry = Math.min(2 * retry, RETRY.longest);
    }
    tick();
  });
};

if (channel) {
  channel.addEventListener("message", ({ data }) => {
    if (data.kind !== "ask") take(data);
    else if (leading && known) channel.postMessage({ kind: lostAt ? "lost" : "alive" });
  });
  navigator.locks.request(name, () => {
    leading = true;
    document.dispatchEvent(new CustomEvent("carelane:leads"));
    listen();
    return new Promise(() => {}); // until the tab is closed
  });
  channel.postMessage({ kind: "ask" });
}
setInterval(tick, POLL);
document.addEventListener("visibilitychange", tick);
window.addEventListener("online", tick);
tick();

// --- Parts of the page that are fetched anew

const due = new Set(); // ids of those that are to be, once they may
const fetching = new Set();

const mayChange = (part) => !document.hidden && !part.contains(document.activeElement);

const refresh = async (id) => {
  const part = document.getElementById(id);
  if (!part || fetching.has(id) || !mayChange(part)) return;
  due.delete(id);
  fetching.add(id);
  try {
    const options = { headers: HEADERS, cache: "no-store", redirect: "error" };
    const answer = await fetch(part.dataset.liveUrl, options);
    const next = answer.ok ? newer(part, await answer.text()) : null;
    if (next && !mayChange(part)) {
      due.add(id);
    } else if (next) {
      replace(part, next);
      next.dispatchEvent(new CustomEvent("carelane:swapped", { bubbles: true }));
    }
  } catch {
    // no network, or the session is over: the badge says so, and everything is looked at again after that
  }
  setTimeout(() => {
    fetching.delete(id);
    if (due.has(id)) refresh(id);
  }, EVERY);
};

const refreshDue = () => setTimeout(() => due.forEach(refresh));

document.addEventListener("carelane:changes", ({ detail }) => {
  document.querySelectorAll("[data-live-url]").forEach((part) => {
    const words = part.dataset.liveOn.split(" ");
    const concerns = ({ subject, type }) => words.some((word) => subject === word || type.startsWith(word));
    if (detail.resync || detail.changes.some(concerns)) due.add(part.id);
  });
  refreshDue();
});
document.addEventListener("focusout", refreshDue);
document.addEventListener("visibilitychange", refreshDue);
