// The booking desk: riders are offered while one types, and what is typed is told back before it is saved.  All of it
// has a way without script: the buttons marked `data-plain`, which are taken away here.
import { combo } from "./combo.js";
import { announce } from "./toast.js";

const form = document.querySelector("form.booking");
const PATIENCE = 250; // milliseconds without a change before the form is looked at

form.querySelectorAll("[data-plain]").forEach((button) => (button.hidden = true));

// Sends the form as the button of this name would.
const press = (choice) => {
  const input = document.createElement("input");
  input.type = "hidden";
  input.name = "do";
  input.value = choice;
  form.append(input);
  form.submit();
};

// The next page has the focus in the time field.  While it is loading, the time field of this page has it, and passes on
// what is typed into it.
const TYPED = "booking-typed";
const pick = (choice) => {
  const { clock } = form.elements;
  const posted = clock.value;
  press(choice);
  clock.focus();
  clock.setSelectionRange(posted.length, posted.length);
  clock.addEventListener("keydown", (event) => event.key === "Enter" && event.preventDefault());
  addEventListener("pagehide", () => sessionStorage.setItem(TYPED, clock.value.slice(posted.length)));
};
form.querySelectorAll("[data-combo]").forEach((box) => combo(box, (value) => pick(`${box.dataset.pick}:${value}`)));

let timer;
let pending = null;
const look = async () => {
  pending?.abort();
  const mine = new AbortController();
  pending = mine;
  let answer;
  try {
    const options = { method: "POST", body: new FormData(form), redirect: "error", signal: mine.signal };
    answer = await fetch(form.dataset.check, options);
    if (!answer.ok) return;
    const parsed = new DOMParser().parseFromString(await answer.text(), "text/html");
    if (pending !== mine) return;
    [...parsed.body.children].forEach((next) => {
      const was = document.getElementById(next.id);
      const says = next.textContent.trim().replace(/\s+/g, " ");
      if (!was || was.textContent.trim().replace(/\s+/g, " ") === says) return;
      was.replaceWith(next);
      if (next.dataset.announced !== undefined && says) announce(says);
    });
  } catch {
    // changed again, or no network: the next change asks anew
  }
};
form.addEventListener("input", (event) => {
  if (event.target.name === "q") return;
  clearTimeout(timer);
  timer = setTimeout(look, PATIENCE);
});
form.addEventListener("keydown", (event) => {
  if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
  event.preventDefault();
  form.requestSubmit();
});
form.addEventListener("submit", () => pending?.abort());
if (form.dataset.looks !== undefined) look(); // a draft that is taken up: its time may mean another one by now

// A time that is there is replaced by what is typed first.
const { clock: time } = form.elements;
const replace = () => time.value === time.defaultValue && time.select();
if (document.activeElement === time) replace();
else time.addEventListener("focus", replace, { once: true });

const early = sessionStorage.getItem(TYPED);
sessionStorage.removeItem(TYPED);
if (early) {
  const { clock } = form.elements;
  const { defaultValue } = clock;
  clock.value = defaultValue + early + clock.value.slice(defaultValue.length);
  clock.dispatchEvent(new Event("input", { bubbles: true }));
}
