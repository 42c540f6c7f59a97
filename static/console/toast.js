// Short messages in a corner, heard by screen readers too.  Three at most: the oldest makes room.
const MOST = 3;
const SECONDS = { ok: 5, error: 12 };
const region = document.getElementById("toasts");

const close = (shown) => {
  const inside = shown.contains(document.activeElement);
  shown.remove();
  if (inside) document.getElementById("main").focus({ preventScroll: true });
};

// Says `text`; `action` is the label of a button that calls `run`, once.  Stays while it has the pointer or the focus.
export const toast = (text, { kind = "ok", action = "", run = null, seconds = SECONDS[kind] } = {}) => {
  while (region.children.length >= MOST) region.firstElementChild.remove();
  const shown = document.createElement("div");
  shown.className = `toast ${kind}`;
  const words = document.createElement("span");
  words.textContent = text;
  shown.append(words);
  if (action) {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "toast-action";
    button.textContent = action;
    button.addEventListener("click", () => {
      close(shown);
      run();
    });
    shown.append(button);
  }
  const button = document.createElement("button");
  button.type = "button";
  button.className = "toast-close";
  button.setAttribute("aria-label", region.dataset.close);
  button.textContent = "×";
  button.addEventListener("click", () => close(shown));
  shown.append(button);
  region.append(shown);

  let timer;
  const wait = () => {
    clearTimeout(timer);
    timer = setTimeout(() => close(shown), seconds * 1000);
  };
  const stay = () => clearTimeout(timer);
  shown.addEventListener("pointerenter", stay);
  shown.addEventListener("focusin", stay);
  shown.addEventListener("pointerleave", wait);
  shown.addEventListener("focusout", wait);
  wait();
  return shown;
};

// Says something to screen readers alone.
export const announce = (text) => {
  document.getElementById("announced").textContent = text;
};
