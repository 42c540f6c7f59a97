// What lists, forms and pages of a record do beyond plain links and forms.  Everything here has a way without script.

import { newer, replace } from "./fragments.js";

// A fragment that is not final asks again until it is: `data-poll` is its address, `data-every` milliseconds.
const poll = (fragment) => {
  setTimeout(async () => {
    if (!fragment.isConnected) return;
    if (document.hidden || fragment.contains(document.activeElement)) {
      poll(fragment); // nothing moves under a person's hands
      return;
    }
    let next = null;
    try {
      const headers = { "X-Carelane-Background": "poll" };
      const answer = await fetch(fragment.dataset.poll, { headers, cache: "no-store", redirect: "error" });
      if (answer.ok) next = newer(fragment, await answer.text());
    } catch {
      // no network, or the session is over: the next turn tells
    }
    if (next) replace(fragment, next);
    if ((next ?? fragment).dataset.poll) poll(next ?? fragment);
  }, Number(fragment.dataset.every));
};
document.querySelectorAll("[data-poll]").forEach(poll);

// Copy buttons: shown where copying works.
document.querySelectorAll("[data-copy]").forEach((button) => {
  if (!navigator.clipboard) return;
  button.hidden = false;
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(document.getElementById(button.dataset.copy).textContent);
    button.querySelector("span").textContent = button.dataset.done;
  });
});

// An answer that shows a secret stands at the address of its form: reloading it would send the form again.
const once = document.querySelector("[data-shown-once]");
if (once) history.replaceState(null, "", once.dataset.shownOnce);

// A list that is ticked as a whole.
document.querySelectorAll("[data-tick-all]").forEach((all) => {
  const rows = [...document.querySelectorAll(`input[name="${all.dataset.tickAll}"]`)];
  all.hidden = false;
  all.addEventListener("change", () => rows.forEach((row) => (row.checked = all.checked)));
  rows.forEach((row) => row.addEventListener("change", () => (all.checked = rows.every((one) => one.checked))));
});

// Finding in a long list of choices while one types; the button does the same without script.
document.querySelectorAll("[data-finds]").forEach((input) => {
  const options = [...document.getElementById(input.dataset.finds).querySelectorAll(".option")];
  const groups = [...document.getElementById(input.dataset.finds).querySelectorAll(".family")];
  const counter = document.getElementById(input.dataset.counter);
  const find = () => {
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    const fits = (option) => words.every((word) => option.textContent.toLowerCase().includes(word));
    options.forEach((option) => (option.hidden = !fits(option) && !option.querySelector("input").checked));
    groups.forEach((group) => (group.hidden = !group.querySelector(".option:not([hidden])")));
    counter.textContent = counter.dataset.text.replace("0", String(options.filter((option) => !option.hidden).length));
  };
  input.addEventListener("input", find);
  input.addEventListener("keydown", (event) => {
    if (event.key !== "Enter") return;
    event.preventDefault(); // it would send the form
    find();
  });
});

// A family that is ticked says all its kinds: they need no tick of their own.
document.querySelectorAll("[data-covers]").forEach((family) => {
  const covered = [...document.querySelectorAll(`input[data-family="${family.dataset.covers}"]`)];
  const show = () => covered.forEach((one) => one.closest(".option").classList.toggle("covered", family.checked));
  family.addEventListener("change", show);
  show();
});

// The head of a folded part says what is saved; when something in it changes, that it is not saved yet.
document.querySelectorAll("details[data-changed]").forEach((fold) => {
  fold.addEventListener("change", () => {
    fold.querySelector(".says").textContent = fold.dataset.changed;
  });
});

document.querySelectorAll("[data-print]").forEach((button) => {
  button.hidden = false;
  button.addEventListener("click", () => window.print());
});
