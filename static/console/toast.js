// Short messages in a corner, heard by screen readers too.  Three at most: the oldest makes room.
const MOST = 3;
const SECONDS = { ok: 5, error: 12 };
const region = document.getElementById("toasts");

const close = (element) => {
  const inside = element.contains(document.activeElement);
  element.remove();
  if (inside) document.getElementById("main").focus({ preventScroll: true });
};

// Says `text`; `action` is the label of a button that calls `run`, once.  Stays while it has the pointer or the focus.
export const toast = (text, { kind = "ok", action = "", run = null, seconds = SECONDS[kind] } = {}) => {
  while (region.children.length >= MOST) region.firstElementChild.remove();
  const element = document.createElement("div");
  element.className = `toast ${kind}`;
  const words = document.createElement("span");
  words.textContent = text;
  element.append(words);
  if (action) {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "toast-action";
    button.textContent = action;
    button.addEventListener("click", () => {
      close(element);
      run();
    });
    element.append(button);
  }
  const button = document.createElement("button");
  button.type = "button";
  button.className = "toast-close";
  button.setAttribute("aria-label", region.dataset.close);
  button.textContent = "×";
  button.addEventListener("click", () => close(element));
  element.append(button);
  region.append(element);

  let timer;
  const wait = () => {
    clearTimeout(timer);
    timer = setTimeout(() => close(element), seconds * 1000);
  };
  const stay = () => clearTimeout(timer);
  element.addEventListener("pointerenter", stay);
  element.addEventListener("focusin", stay);
  element.addEventListener("pointerleave", wait);
  element.addEventListener("focusout", wait);
  wait();
  return element;
};

// Says something to screen readers alone.
export const announce = (text) => {
  document.getElementById("announced").textContent = text;
};
