// A form that keeps itself on the server while it is written: `data-keep` is the address.  What is typed outlives a
// session that ends, a tab that is closed, a ward that calls.  One request at a time, so that the last word stays last.
const form = document.querySelector("form[data-keep]");
const status = document.getElementById("draft-status");
const PATIENCE = 1500; // milliseconds without a change

let timer = 0;
let underWay = false;
let changed = false;
let sent = false; // the form itself: the server forgets the draft when it books

const content = () => {
  const body = new FormData(form);
  body.set("by_itself", "1");
  return body;
};

const keep = async () => {
  timer = 0;
  if (sent) return;
  changed = underWay;
  if (underWay) return;
  underWay = true;
  try {
    const answer = await fetch(form.dataset.keep, { method: "POST", body: content(), redirect: "error" });
    status.textContent = answer.ok ? await answer.text() : status.dataset.failed;
  } catch {
    status.textContent = status.dataset.failed;
  }
  underWay = false;
  if (changed) keep();
};

form.addEventListener("input", (event) => {
  if (event.target.name === "q") return; // looked for, not chosen
  clearTimeout(timer);
  timer = setTimeout(keep, PATIENCE);
});
form.addEventListener("submit", () => {
  clearTimeout(timer);
  timer = 0;
  sent = true;
});
addEventListener("pageshow", () => (sent = false)); // Back
addEventListener("pagehide", () => {
  if (!timer) return;
  clearTimeout(timer);
  timer = 0;
  fetch(form.dataset.keep, { method: "POST", body: content(), keepalive: true }).catch(() => {});
});
