// Puts a newer state of a part of the page into its place; the two bear the same id.
export const replace = (fragment, next) => {
  // What a person has opened or closed stays so.
  fragment.querySelectorAll("details[id]").forEach((was) => {
    const now = next.querySelector(`#${CSS.escape(was.id)}`);
    if (now) now.open = was.open;
  });
  fragment.replaceWith(next);
  // A live region that is replaced says nothing: what is to be heard of a fragment is put into one that stays.
  const [before, after] = [fragment, next].map((one) => one.querySelector("[data-announcement]")?.textContent.trim() ?? "");
  const region = document.getElementById(next.dataset.announceIn);
  if (region && after !== before) region.textContent = after;
};

// Finds in the text of a page what is to take the place of `fragment`; null where it is not there or says the same.
export const newer = (fragment, text) => {
  const next = new DOMParser().parseFromString(text, "text/html").getElementById(fragment.id);
  return next && next.outerHTML !== fragment.outerHTML ? next : null;
};
