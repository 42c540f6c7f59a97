// What every combobox is made of (the ARIA practices): a list of options that the arrows walk while the focus stays in
// the field, and a server that is asked while somebody types.
export const listbox = (input, list) => {
  const attributes = { role: "combobox", "aria-autocomplete": "list", "aria-expanded": "false" };
  Object.entries(attributes).forEach(([name, value]) => input.setAttribute(name, value));
  input.setAttribute("aria-controls", list.id);
  // The field keeps the focus while an option is pressed.
  list.addEventListener("mousedown", (event) => event.preventDefault());

  const options = () => [...list.querySelectorAll("[data-value]")];
  const active = () => list.querySelector('[aria-selected="true"]');
  const choose = (option) => {
    active()?.setAttribute("aria-selected", "false");
    option?.setAttribute("aria-selected", "true");
    option?.scrollIntoView({ block: "nearest" });
    if (option) input.setAttribute("aria-activedescendant", option.id);
    else input.removeAttribute("aria-activedescendant");
  };
  const walk = (step) => {
    const items = options();
    choose(items.at((items.indexOf(active()) + step + items.length) % items.length));
  };
  const unfold = (open) => {
    list.hidden = !open;
    input.setAttribute("aria-expanded", String(open));
    if (!open) choose(null);
  };
  return { options, active, choose, walk, unfold };
};

export const ARROWS = { ArrowDown: 1, ArrowUp: -1 };

// Asks an address about a text, in the body of a POST.  A question puts an end to the one before it, which then answers
// null, as one does that gets no answer: no network, or the session is over.
export const asker = (address, token) => {
  let pending = null;
  const stop = () => {
    pending?.abort();
    pending = null;
  };
  const ask = async (text) => {
    stop();
    const mine = new AbortController();
    pending = mine;
    try {
      const body = new URLSearchParams({ q: text });
      const headers = { "X-CSRFToken": token };
      const answer = await fetch(address, { method: "POST", body, headers, redirect: "error", signal: mine.signal });
      const markup = answer.ok ? await answer.text() : null;
      if (markup === null || pending !== mine) return null;
      return new DOMParser().parseFromString(markup, "text/html").querySelector("ul");
    } catch {
      return null;
    } finally {
      if (pending === mine) pending = null;
    }
  };
  return { ask, stop, waits: () => pending !== null };
};
