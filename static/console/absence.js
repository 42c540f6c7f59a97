// Driver out: when the times change, the list shows the rides that the absence would free then.
import { newer, replace } from "./fragments.js";

const form = document.getElementById("driver-out");
let latest = 0; // an earlier answer that comes later is not shown

form.addEventListener("change", async (event) => {
  if (event.target.type !== "datetime-local") return;
  const mine = ++latest;
  const body = new FormData(form);
  body.set("preview", "on");
  const answer = await fetch(form.action, { method: "POST", body, redirect: "error" }).catch(() => null);
  if (!answer?.ok || mine !== latest) return;
  const affected = document.getElementById("affected");
  const next = newer(affected, await answer.text());
  if (next && mine === latest) replace(affected, next);
});
