// A form that keeps itself on the server while it is written: `data-keep` is the address.  What is typed outlives a
// session that ends, a tab that is closed, a ward that calls.  One request at a time, so that the last word stays last.
const form = document.querySelector("form[data-keep]");
const told = document.getElementById("draft-told");
const PATIENCE = 1500; // milliseconds without a change

let timer = 0;
let underWay = false;
let changed = false;
let sent = false; // the form itself: the server forgets the draft when it books

const said = () => {
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
    const answer = await fetch(form.dataset.keep, { method: "POST", body: said(), redirect: "error" });
    told.textContent = answer.ok ? await answer.text() : told.dataset.failed;
  } catch {
    told.textContent = told.dataset.failed;
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
  fetch(form.dataset.keep, { method: "POST", body: said(), keepalive: true }).catch(() => {});
});
