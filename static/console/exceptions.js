// The exceptions desk by keyboard: j and k move, e acknowledges, s snoozes, o opens.  All of it has buttons and links.
import { announce, toast } from "./toast.js";

const box = document.getElementById("exceptions-box");
const dialog = document.getElementById("snooze");
const about = dialog.querySelector("[data-about]");
let current = ""; // the id of the row one is at
let within = false; // the focus is in the list

const rowOf = (id) => (id ? document.getElementById(`row-${id}`) : null);
const first = () => box.querySelector("[data-exception]");
const focusOn = (row) => {
  const now = rowOf(current);
  if (now !== row) now?.classList.remove("current");
  current = row.dataset.exception;
  row.classList.add("current");
  document.getElementById(`open-${current}`).focus();
};

const move = (step) => {
  const now = rowOf(current);
  const next = now ? (step > 0 ? now.nextElementSibling : now.previousElementSibling) : first();
  if (next ?? now) focusOn(next ?? now);
};

// Puts a list in place of the present one; who stood at a row stands there again, or at the one that took its place.
const settle = (place) => {
  const row = rowOf(current) ?? box.querySelectorAll("[data-exception]")[place] ?? [...box.querySelectorAll("[data-exception]")].at(-1);
  if (!row) return;
  row.classList.add("current");
  current = row.dataset.exception;
  if (within && !box.contains(document.activeElement) && !dialog.open) document.getElementById(`open-${current}`).focus();
};

let place = 0;
const remember = () => {
  const now = rowOf(current);
  place = now ? now.rowIndex - 1 : 0;
};

new MutationObserver(() => {
  if (current) settle(place);
}).observe(box, { childList: true });

box.addEventListener("focusin", (event) => {
  within = true;
  const row = event.target.closest("[data-exception]");
  if (!row || row.dataset.exception === current) return;
  rowOf(current)?.classList.remove("current");
  current = row.dataset.exception;
  row.classList.add("current");
  remember();
});
document.addEventListener("focusin", (event) => {
  if (!box.contains(event.target) && !dialog.contains(event.target)) within = false;
});

// Sends a form and shows the list that comes back; what is refused comes back as a list, too, with what it says.
const send = async (address, body) => {
  remember();
  let answer;
  try {
    const headers = { "X-Carelane-Part": "list" };
    answer = await fetch(address, { method: "POST", body, headers, redirect: "error" });
  } catch {
    window.location.reload(); // no network, or the session is over
    return;
  }
  const parsed = new DOMParser().parseFromString(await answer.text(), "text/html");
  const next = parsed.getElementById("exceptions");
  if (!next) {
    const wrong = parsed.querySelector(".error-summary li, .message.error, h1");
    toast(wrong?.textContent.trim() ?? answer.statusText, { kind: "error" });
    return;
  }
  document.getElementById("exceptions").replaceWith(next);
  if (answer.ok) announce(next.dataset.message);
  toast(next.dataset.message, { kind: answer.ok ? "ok" : "error" });
};

const token = () => document.querySelector("#snooze [name=csrfmiddlewaretoken]").value;
const acknowledge = (row) => {
  const button = row.querySelector("[data-acknowledge]");
  if (!button) return;
  const body = new FormData();
  body.append("csrfmiddlewaretoken", token());
  body.append("version", button.value);
  send(button.formAction, body);
};

const snooze = (row) => {
  const link = row.querySelector("[data-snooze]");
  if (!link) return;
  const form = dialog.querySelector("form");
  form.action = link.dataset.snooze;
  form.elements.version.value = row.dataset.version;
  form.elements.until.value = "";
  about.textContent = document.getElementById(`open-${row.dataset.exception}`).textContent;
  dialog.showModal();
};

document.addEventListener("click", (event) => {
  const row = event.target.closest("#exceptions [data-exception]");
  const control = event.target.closest("[data-acknowledge], [data-snooze]");
  if (!row || !control) return;
  event.preventDefault();
  focusOn(row);
  if (control.matches("[data-acknowledge]")) acknowledge(row);
  else snooze(row);
});

dialog.querySelector("form").addEventListener("submit", (event) => {
  event.preventDefault();
  const body = new FormData(event.target, event.submitter);
  dialog.close();
  send(event.target.action, body);
});
dialog.addEventListener("close", () => document.getElementById(`open-${current}`)?.focus());

const KEYS = {
  j: () => move(1),
  k: () => move(-1),
  e: (row) => acknowledge(row),
  s: (row) => snooze(row),
  o: (row) => row.querySelector("[data-open]").click(),
};
document.addEventListener("keydown", (event) => {
  if (document.body.dataset.singleKeys === "off" || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.target.closest("input, select, textarea, [contenteditable]") || document.querySelector("dialog[open]")) return;
  const act = KEYS[event.key];
  const row = rowOf(current);
  if (!act || (!row && !"jk".includes(event.key))) return;
  event.preventDefault();
  act(row);
});
