// Opens and closes the table of contents on narrow screens, and closes the account menu when one leaves it.
const toggle = document.querySelector(".nav-toggle");
const contents = document.getElementById("contents");
if (toggle && contents) {
  toggle.addEventListener("click", () => {
    const open = contents.classList.toggle("open");
    toggle.setAttribute("aria-expanded", String(open));
  });
}

const account = document.querySelector("details.account");
if (account) {
  document.addEventListener("click", (event) => {
    if (!account.contains(event.target)) account.open = false;
  });
  account.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    account.open = false;
    account.querySelector("summary").focus();
  });
}

// Pages that ask for it by `data-live` on <body> change as the data does.
if ("live" in document.body.dataset && document.getElementById("live")) {
  import("./live.js");
  if (document.getElementById("attention")) import("./attention.js");
}
