// Calls for somebody who does not look at the page: the count of open alerts before its title, and for who wants that a
// sound or a notification of the browser about new ones, from the one tab that holds the stream.  Ids and severities are
// all that it knows of an alert.
import { leads } from "./live.js";
import { toast } from "./toast.js";

const EVERY = 2_000; // milliseconds: the server is asked at most this often
const QUIET = 10_000; // between two sounds; what comes meanwhile is told of together
const MUTED = 30 * 60_000;
const MOST = 500; // ids that are kept
const HEADERS = { "X-Carelane-Background": "alerts" };
const LOUD = ["critical", "warning"];

const words = document.getElementById("attention").dataset;
const person = document.getElementById("live").dataset.person;
const calls = "sound" in words || "notices" in words;
const mute = document.getElementById("mute");
const tones = "sound" in words ? import("./chime.js") : null; // for who wants them: the board stays small

// --- What the tabs of a browser know together: which alerts were told of, when, and until when nobody wants to hear

const stored = (name, otherwise) => JSON.parse(localStorage.getItem(`carelane-${name}-${person}`)) ?? otherwise;
const keep = (name, value) => localStorage.setItem(`carelane-${name}-${person}`, JSON.stringify(value));

const isMuted = () => stored("muted", 0) > Date.now();

// --- Calling

const sound = async (severity) => {
  const { chime } = await tones;
  if (await chime(severity)) return;
  sound.toast ??= toast(words.blocked, { kind: "error", action: words.play, run: () => chime(severity) });
};

const notify = (fresh) => {
  if (!("Notification" in window) || Notification.permission !== "granted") return;
  const counts = [...LOUD, "info"].map((severity) => [severity, fresh.filter((one) => one.severity === severity).length]);
  const summary = counts.filter(([, count]) => count).map(([severity, count]) => `${words[severity]}: ${count}`);
  const body = `${summary.join(", ")}. ${words.open}`;
  try {
    // One takes the place of the one before it.  Sounds are ours.
    const notification = new Notification(words.title.replace("{count}", fresh.length), {
      body,
      tag: "carelane-alerts",
      renotify: true,
      silent: true,
    });
    notification.addEventListener("click", () => {
      window.focus();
      location.assign(words.inbox);
    });
  } catch {
    // a phone's browser, which has them for installed applications alone
  }
};

let alerts = []; // that are open
let timer = 0;

const call = () => {
  timer = 0;
  const announced = stored("announced", []);
  const fresh = alerts.filter((one) => !announced.includes(one.id));
  if (!fresh.length) return;
  // Written before anything is heard: tabs that share no lock look here, too.
  keep("announced", [...fresh.map((one) => one.id), ...announced].slice(0, MOST));
  if (isMuted()) return;
  keep("called", Date.now());
  const worst = LOUD.find((severity) => fresh.some((one) => one.severity === severity));
  if ("sound" in words && worst) sound(worst);
  if ("notices" in words) notify(fresh);
};

const hear = () => {
  const announced = stored("announced", null);
  if (announced === null) {
    keep("announced", alerts.map((one) => one.id)); // what was open before is no news
    return;
  }
  if (timer || alerts.every((one) => announced.includes(one.id))) return;
  // A clock that was set back keeps nobody waiting.
  const since = Math.max(0, Date.now() - stored("called", 0));
  timer = setTimeout(call, Math.max(0, QUIET - since));
};

// --- Looking

const ask = async () => {
  try {
    const answer = await fetch(words.news, { headers: HEADERS, cache: "no-store", redirect: "error" });
    if (!answer.ok) return;
    const news = await answer.json();
    const title = document.title.replace(/^\(\d+\) /, "");
    document.title = news.open ? `(${news.open}) ${title}` : title;
    alerts = news.alerts;
    if (calls && leads()) hear();
  } catch {
    // no network, or the session is over: the badge says so, and everything is looked at again after that
  }
};

let asking = false;
let again = false;
const look = async () => {
  again = asking;
  if (asking) return;
  asking = true;
  await ask();
  setTimeout(() => {
    asking = false;
    if (again) look();
  }, EVERY);
};

document.addEventListener("carelane:changes", ({ detail }) => {
  if (detail.resync || detail.changes.some((one) => one.subject === "alert")) look();
});
// What came while no page of this browser listened, or while another tab held the stream and was closed.
if (calls) {
  document.addEventListener("carelane:leads", look);
  if (leads()) look();
}

// --- Not now

const showMute = () => {
  mute.lastChild.data = mute.dataset[isMuted() ? "unmute" : "mute"];
};
if (mute) {
  mute.hidden = false;
  showMute();
  mute.closest("details").addEventListener("toggle", showMute);
  mute.addEventListener("click", () => {
    keep("muted", isMuted() ? 0 : Date.now() + MUTED);
    showMute();
    toast(isMuted() ? words.muted : words.heard);
  });
}
