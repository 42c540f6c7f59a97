// Keys of every page: those that open pages stand at their links in the contents (`data-keys`), so that they lead where
// the person may go.  Single keys are silent in fields and dialogs, and where the person has switched them off.
const PATIENCE = 1_500; // milliseconds between the two keys of a sequence
const SEARCHES =
  'main :is(input[type="search"], [role="combobox"], form.filters :is(input:not([type="hidden"]), select))';
const help = document.getElementById("keys");
const palette = document.getElementById("palette");
const contents = document.getElementById("contents");
// What is typed at once goes into the field that opens at once; what fills the list is loaded when it is first wanted.
const loadPalette = () => import("./palette.js");
const openPalette = async () => {
  palette.showModal();
  (await loadPalette()).fill();
};
const OPENS = { keys: () => help.showModal(), palette: openPalette };

document.querySelectorAll("[data-opens]").forEach((button) => {
  button.hidden = false;
  button.addEventListener("click", () => {
    const menu = button.closest("details");
    menu?.querySelector("summary").focus(); // where the focus comes back to: the menu closes
    if (menu) menu.open = false;
    OPENS[button.dataset.opens]();
  });
});
help.addEventListener("click", (event) => {
  if (event.target === help) help.close();
});

const search = () => {
  const field = [...document.querySelectorAll(SEARCHES)].find((one) => one.checkVisibility());
  if (!field) {
    openPalette();
    return;
  }
  field.focus();
  field.select?.();
};
const ACTS = { "?": OPENS.keys, "/": search };
const follow = (keys) => contents.querySelector(`[data-keys="${CSS.escape(keys)}"]`)?.click();

// A key that is ours is nobody else's: the scripts of pages listen further down.
const claim = (event) => {
  event.preventDefault();
  event.stopImmediatePropagation();
};

const silent = (event) =>
  document.body.dataset.singleKeys === "off" ||
  event.isComposing ||
  event.ctrlKey ||
  event.metaKey ||
  event.altKey ||
  event.target.closest?.("input, select, textarea, [contenteditable]") ||
  document.querySelector("dialog[open]");

let begunAt = -Infinity; // when g was pressed
window.addEventListener(
  "keydown",
  (event) => {
    if (event.key === "Control" || event.key === "Meta") loadPalette(); // K may follow
    if ((event.ctrlKey || event.metaKey) && !event.altKey && !event.shiftKey && event.key.toLowerCase() === "k") {
      if (!palette.open && document.querySelector("dialog[open]")) return;
      claim(event);
      if (palette.open) palette.close();
      else openPalette();
      return;
    }
    if (silent(event) || event.key.length > 1) return;
    // What follows g is the second half of it whether or not there is such a page: alone it may do something here.
    const isSecond = event.timeStamp - begunAt < PATIENCE;
    begunAt = -Infinity;
    if (isSecond) {
      claim(event);
      follow(`g ${event.key}`);
    } else if (event.key === "g") {
      claim(event);
      begunAt = event.timeStamp;
    } else if (event.key in ACTS) {
      claim(event);
      ACTS[event.key]();
    } else if (contents.querySelector(`[data-keys="${CSS.escape(event.key)}"]`)) {
      claim(event);
      follow(event.key);
    }
  },
  { capture: true },
);
