// A field that offers what the server finds while one types: the combobox with a list of the ARIA practices.
//
// `<div data-combo="address"><input><ul role="listbox" id="…" hidden></ul></div>` inside a form.  What is typed goes to
// the address as `q` in the body of a POST, never into an address; the answer is a list of options with `data-value`.
// `pick(value, option)` is called with what is chosen.
import { announce } from "./toast.js";

const PATIENCE = 120; // milliseconds without a key before the server is asked
const FEWEST = 2; // characters

export const combo = (box, pick) => {
  const input = box.querySelector("input");
  const list = box.querySelector('[role="listbox"]');
  const token = box.closest("form").elements.csrfmiddlewaretoken.value;
  let timer;
  let asked = null; // what is under way
  let shown = ""; // what the list is about
  let picksFirst = false; // Enter came before the answer
  const attributes = { role: "combobox", "aria-autocomplete": "list", "aria-expanded": "false" };
  Object.entries(attributes).forEach(([name, value]) => input.setAttribute(name, value));
  input.setAttribute("aria-controls", list.id);

  const options = () => [...list.querySelectorAll("[data-value]")];
  const active = () => list.querySelector('[aria-selected="true"]');
  const open = () => !list.hidden;
  const choose = (option) => {
    active()?.setAttribute("aria-selected", "false");
    option?.setAttribute("aria-selected", "true");
    option?.scrollIntoView({ block: "nearest" });
    if (option) input.setAttribute("aria-activedescendant", option.id);
    else input.removeAttribute("aria-activedescendant");
  };
  const close = () => {
    list.hidden = true;
    input.setAttribute("aria-expanded", "false");
    choose(null);
  };
  const take = (option) => {
    close();
    pick(option.dataset.value, option);
  };

  const show = (answer, text) => {
    list.replaceChildren(...answer.children);
    shown = text;
    list.hidden = false;
    input.setAttribute("aria-expanded", "true");
    choose(options()[0]);
    announce(answer.dataset.says);
    if (picksFirst && options().length === 1) take(options()[0]);
    picksFirst = false;
  };

  const ask = async () => {
    const text = input.value.trim();
    asked?.abort();
    asked = null;
    if (text.length < FEWEST) {
      close();
      return;
    }
    const mine = new AbortController();
    asked = mine;
    try {
      const body = new URLSearchParams({ q: text });
      const headers = { "X-CSRFToken": token };
      const answer = await fetch(box.dataset.combo, { method: "POST", body, headers, redirect: "error", signal: mine.signal });
      if (!answer.ok) return;
      const parsed = new DOMParser().parseFromString(await answer.text(), "text/html");
      if (asked === mine) show(parsed.querySelector("ul"), text);
    } catch {
      // another letter was typed, or there is no network: the button finds without script
    } finally {
      if (asked === mine) asked = null;
    }
  };
  const waits = () => timer !== undefined || asked !== null;

  input.addEventListener("input", () => {
    clearTimeout(timer);
    picksFirst = false;
    timer = setTimeout(() => {
      timer = undefined;
      ask();
    }, PATIENCE);
  });
  input.addEventListener("keydown", (event) => {
    if (event.isComposing || event.ctrlKey || event.metaKey || event.altKey) return;
    const found = options();
    const at = found.indexOf(active());
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step) {
      event.preventDefault();
      if (open()) choose(found.at((at + step + found.length) % found.length));
      else ask();
    } else if (event.key === "Escape" && open()) {
      event.preventDefault();
      close();
    } else if (event.key === "Enter" && (input.value.trim() || open())) {
      event.preventDefault(); // nothing is booked from here
      if (waits() || input.value.trim() !== shown) picksFirst = true;
      else if (open() && active()) take(active());
      else ask();
    }
  });
  input.addEventListener("blur", close);
  // The field keeps the focus while an option is pressed.
  list.addEventListener("mousedown", (event) => event.preventDefault());
  list.addEventListener("click", (event) => {
    const option = event.target.closest("[data-value]");
    if (option) take(option);
  });
};
