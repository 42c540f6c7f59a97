// A page that finds a record: what is chosen in a combobox is opened.  `data-open` is where, up to its id.
import { combo } from "./combo.js";

document.querySelectorAll("[data-combo][data-open]").forEach((box) => {
  combo(box, (value) => location.assign(box.dataset.open + value));
});
