// A field that offers what the server finds while one types: the combobox with a list of the ARIA practices.
//
// `<div data-combo="address"><input><ul role="listbox" id="…" hidden></ul></div>` inside a form.  What is typed goes to
// the address as `q` in the body of a POST, never into an address; the answer is a list of options with `data-value`.
// `pick(value, option)` is called with what is chosen.
import { ARROWS, asker, listbox } from "./listbox.js";
import { announce } from "./toast.js";

const PATIENCE = 120; // milliseconds without a key before the server is asked
const FEWEST = 2; // characters

export const combo = (box, pick) => {
  const input = box.querySelector("input");
  const list = box.querySelector('[role="listbox"]');
  const server = asker(box.dataset.combo, box.closest("form").elements.csrfmiddlewaretoken.value);
  const { options, active, choose, walk, unfold } = listbox(input, list);
  let timer;
  let listedFor = ""; // what the list is about
  let picksFirst = false; // Enter came before the answer

  const open = () => !list.hidden;
  const close = () => unfold(false);
  const take = (option) => {
    close();
    pick(option.dataset.value, option);
  };

  const show = (answer, text) => {
    list.replaceChildren(...answer.children);
    listedFor = text;
    unfold(true);
    choose(options()[0]);
    announce(answer.dataset.announcement);
    // A similar name may be somebody else's: a person has to see it first.
    const isExact = answer.dataset.similar === undefined;
    if (picksFirst && isExact && options().length === 1) take(options()[0]);
    picksFirst = false;
  };

  const ask = async () => {
    const text = input.value.trim();
    if (text.length < FEWEST) {
      server.stop();
      close();
      return;
    }
    const answer = await server.ask(text);
    if (answer) show(answer, text); // else another letter was typed, or the button finds without script
  };
  const waits = () => timer !== undefined || server.waits();

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
    const step = ARROWS[event.key];
    if (step) {
      event.preventDefault();
      if (open()) walk(step);
      else ask();
    } else if (event.key === "Escape" && open()) {
      event.preventDefault();
      close();
    } else if (event.key === "Enter" && (input.value.trim() || open())) {
      event.preventDefault(); // nothing is booked from here
      if (waits() || input.value.trim() !== listedFor) picksFirst = true;
      else if (open() && active()) take(active());
      else ask();
    }
  });
  input.addEventListener("blur", close);
  list.addEventListener("click", (event) => {
    const option = event.target.closest("[data-value]");
    if (option) take(option);
  });
};
