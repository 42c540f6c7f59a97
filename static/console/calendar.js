// Calendars are walked with arrow keys, and one Tab leads into them.  Without script every day is a link of its own.
document.querySelectorAll("table[data-calendar]").forEach((table) => {
  const days = () => [...table.querySelectorAll("td a")].filter((day) => day.checkVisibility());
  const enter = (day) => {
    table.querySelectorAll("td a").forEach((one) => (one.tabIndex = one === day ? 0 : -1));
  };
  const first = () => {
    const visible = days();
    return visible.find((day) => day.closest(".chosen")) ?? visible.find((day) => day.ariaCurrent) ?? visible[0];
  };
  // On narrow screens days without rides are not shown: who stands on one is brought to one that is.
  const settle = () => {
    const inside = table.querySelector('td a[tabindex="0"]');
    if (!inside?.checkVisibility()) enter(first());
  };
  settle();
  addEventListener("resize", settle);

  const go = (event, day) => {
    event.preventDefault();
    if (!day) return;
    enter(day);
    day.focus();
  };
  const turn = (event, way) => {
    const link = table.closest("section").querySelector(`a[rel="${way}"]`);
    event.preventDefault();
    link?.click();
  };
  table.addEventListener("keydown", (event) => {
    if (event.altKey || event.ctrlKey || event.metaKey || event.shiftKey) return;
    const day = event.target.closest("td a");
    if (!day) return;
    const visible = days();
    const at = visible.indexOf(day);
    const cell = day.closest("td");
    const below = (step) => {
      const row = table.tBodies[0].rows[cell.parentElement.rowIndex - 1 + step];
      const target = row?.cells[cell.cellIndex]?.querySelector("a");
      return target?.checkVisibility() ? target : undefined;
    };
    const week = [...cell.parentElement.querySelectorAll("a")].filter((one) => one.checkVisibility());
    const ahead = getComputedStyle(table).direction === "rtl" ? -1 : 1;
    const stacked = getComputedStyle(cell).display === "block";
    if (event.key === "ArrowRight") go(event, visible[at + ahead]);
    else if (event.key === "ArrowLeft") go(event, visible[at - ahead]);
    else if (event.key === "ArrowDown") go(event, stacked ? visible[at + 1] : below(1));
    else if (event.key === "ArrowUp") go(event, stacked ? visible[at - 1] : below(-1));
    else if (event.key === "Home") go(event, week[0]);
    else if (event.key === "End") go(event, week.at(-1));
    else if (event.key === "PageUp") turn(event, "prev");
    else if (event.key === "PageDown") turn(event, "next");
  });
});

// A day that was chosen is where one goes on.
const chosen = location.hash === "#day" ? document.getElementById("day") : null;
chosen?.focus();
