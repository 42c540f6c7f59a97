// Warns before an idle session ends, and leaves the page when it has ended: nobody reads on at a desk left alone.
// The server says how long is left, because other tabs keep the session alive too; asking in the background does not.
const dialog = document.getElementById("idle");

if (dialog) {
  const form = dialog.querySelector("form");
  const remaining = dialog.querySelector("[role=timer]");
  const warning = Number(dialog.dataset.warning);
  const askEvery = 10; // seconds, while the warning stands
  let endsAt = Date.now() + Number(dialog.dataset.left) * 1000;
  let askedAt = Date.now();
  let timer;

  const left = () => Math.ceil((endsAt - Date.now()) / 1000);

  const ask = async (options) => {
    askedAt = Date.now();
    let answer;
    try {
      answer = await fetch(form.action, { redirect: "manual", cache: "no-store", ...options });
    } catch {
      return; // no network: the clock runs on, and the next tick asks again
    }
    if (!answer.ok) {
      // A redirect to the sign-in, most likely: the session is over.
      location.assign(location.pathname + location.search);
      return;
    }
    endsAt = Date.now() + (await answer.json()).secondsLeft * 1000;
  };

  const show = () => {
    if (left() > warning) {
      if (dialog.open) dialog.close();
      return;
    }
    const seconds = Math.max(0, left());
    remaining.textContent = `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}`;
    if (!dialog.open) dialog.showModal();
  };

  const tick = async () => {
    clearTimeout(timer);
    const due = !dialog.open || left() <= 0 || Date.now() - askedAt >= askEvery * 1000;
    if (left() <= warning && due) await ask({ headers: { "X-Carelane-Background": "idle" } });
    show();
    clearTimeout(timer);
    timer = setTimeout(tick, dialog.open ? 1000 : Math.max(1, left() - warning) * 1000);
  };

  const stay = async (event) => {
    event.preventDefault();
    await ask({ method: "POST", body: new FormData(form) });
    tick();
  };

  form.addEventListener("submit", stay);
  dialog.addEventListener("cancel", stay); // Escape
  // Timers stand still while a computer sleeps or a tab rests.
  document.addEventListener("visibilitychange", () => {
    if (document.visibilityState === "visible") tick();
  });
  tick();
}
