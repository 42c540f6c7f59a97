// The command palette: every page one may open and what the account menu does, known at once, and from two letters on
// the drivers, riders and rides that the server finds.  Nothing of it is kept when it closes.  Loaded by keys.js, which
// opens the dialog, when somebody first asks for it.
import { ARROWS, asker, listbox } from "./listbox.js";

const PATIENCE = 100; // milliseconds without a key before the server is asked
const FEWEST = 2; // characters
const SOURCES = ["#contents a", ".account .menu-item:is([href], [data-opens], [data-command]):not([hidden])"];

const dialog = document.getElementById("palette");
const input = dialog.querySelector("input:not([type=hidden])");
const list = dialog.querySelector('[role="listbox"]');
const status = dialog.querySelector("[aria-live]");
const server = asker(dialog.dataset.find, dialog.querySelector("[name=csrfmiddlewaretoken]").value);
const { options, active, choose, walk, unfold } = listbox(input, list);

const part = (kind, text) => {
  const made = document.createElement("span");
  made.className = kind;
  made.textContent = text;
  return made;
};
// The words of a link or button, without what it counts.
const label = (element) => {
  const texts = [...element.childNodes].filter((node) => node.nodeType === Node.TEXT_NODE);
  return texts.map((node) => node.data).join("").trim();
};
const item = (attributes) => {
  const made = document.createElement("li");
  made.setAttribute("role", "option");
  made.setAttribute("aria-selected", "false");
  Object.entries(attributes).forEach(([name, value]) => made.setAttribute(name, value));
  return made;
};
const command = (element, at) => {
  const option = item({ id: `command-${at}`, "data-value": "" });
  const { page, run } = dialog.dataset;
  const name = part("what", label(element));
  option.append(part("kind", element.href ? page : run), " ", name);
  if (element.dataset.keys) option.append(" ", part("mark", element.dataset.keys));
  return { option, element, text: name.textContent.toLowerCase() };
};
let commands = [];

const fitting = (text) => {
  const words = text.split(/\s+/).filter(Boolean);
  const fits = commands.filter((one) => words.every((word) => one.text.includes(word)));
  const begins = fits.filter((one) => one.text.startsWith(text));
  return [...begins, ...fits.filter((one) => !begins.includes(one))].map((one) => one.option);
};

// Shows what fits, with what the server has found; nobody's choice is taken from under their hands.
const show = (results = [], answered = true) => {
  const previous = active();
  list.replaceChildren(...fitting(input.value.trim().toLowerCase()), ...results);
  choose(previous?.isConnected ? previous : options()[0]);
  if (options().length || !answered) return;
  const nothing = item({ "aria-disabled": "true" });
  nothing.textContent = dialog.dataset.nothing;
  list.append(nothing);
  status.textContent = nothing.textContent;
};

const take = (option) => {
  const match = commands.find((one) => one.option === option);
  dialog.close();
  if (match) match.element.click();
  else location.assign(option.dataset.value);
};

let timer;
const typed = () => {
  clearTimeout(timer);
  server.stop();
  const text = input.value.trim();
  choose(null);
  show([], text.length < FEWEST);
  if (text.length < FEWEST) return;
  timer = setTimeout(async () => {
    const answer = await server.ask(text);
    if (!answer || !dialog.open) return;
    status.textContent = answer.dataset.announcement;
    show([...answer.children]);
  }, PATIENCE);
};

// Lists what fits the field, which may have been typed into already; or be closed again.
export const fill = () => {
  if (!dialog.open) {
    input.value = "";
    return;
  }
  commands = SOURCES.flatMap((selector) => [...document.querySelectorAll(selector)]).map(command);
  unfold(true);
  typed();
};

input.addEventListener("input", typed);
input.addEventListener("keydown", (event) => {
  if (event.isComposing || event.ctrlKey || event.metaKey || event.altKey) return;
  if (ARROWS[event.key]) {
    event.preventDefault();
    if (options().length) walk(ARROWS[event.key]);
  } else if (event.key === "Enter" && active()) {
    event.preventDefault();
    take(active());
  }
});
list.addEventListener("click", (event) => {
  const option = event.target.closest("[data-value]");
  if (option) take(option);
});
dialog.addEventListener("click", (event) => {
  if (event.target === dialog) dialog.close();
});
// Names do not stay in a page that nobody reads.
dialog.addEventListener("close", () => {
  clearTimeout(timer);
  server.stop();
  input.value = status.textContent = "";
  unfold(false);
  list.replaceChildren();
});
