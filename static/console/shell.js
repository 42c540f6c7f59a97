// Opens and closes the table of contents on narrow screens, and closes menus when a person leaves them.
const toggle = document.querySelector(".nav-toggle");
const contents = document.getElementById("contents");
if (toggle && contents) {
  toggle.addEventListener("click", () => {
    const open = contents.classList.toggle("open");
    toggle.setAttribute("aria-expanded", String(open));
  });
}

for (const menu of document.querySelectorAll("details:is(.account, .rail-group)")) {
  document.addEventListener("click", (event) => {
    if (!menu.contains(event.target)) menu.open = false;
  });
  menu.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || !menu.open) return;
    menu.open = false;
    menu.querySelector("summary").focus();
    event.stopPropagation();
  });
}

// Pages that ask for it by `data-live` on <body> change as the data does.
if ("live" in document.body.dataset && document.getElementById("live")) {
  import("./live.js");
  if (document.getElementById("attention")) import("./attention.js");
}
