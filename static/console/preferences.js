// Tries the sound of new alerts, and asks the browser whether it will show notifications: by a press, as browsers want.
import { chime } from "./chime.js";

const trial = document.getElementById("try-sound");
const soundState = document.getElementById("sound-stand");
const allow = document.getElementById("allow-notices");
const stand = document.getElementById("notices-stand");
const notices = document.getElementById("id_alert_notices");

// Pages that came by plain http have the name of it and may not use it.
const permission = () => ("Notification" in window && window.isSecureContext ? Notification.permission : "none");
const show = () => {
  const now = permission();
  stand.textContent = stand.dataset[now];
  stand.className = now === "denied" && notices.checked ? "message warning" : "muted";
  allow.hidden = now !== "default";
};

trial.hidden = false;
trial.addEventListener("click", async () => {
  soundState.textContent = (await chime("critical")) ? "" : soundState.dataset.silent;
});
allow.addEventListener("click", async () => {
  await Notification.requestPermission();
  show();
  if (permission() === "granted") notices.checked = true;
  if (allow.hidden) notices.focus();
});
notices.addEventListener("change", show);
show();
