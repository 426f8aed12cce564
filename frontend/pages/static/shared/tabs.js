// Tabs by the pattern of the ARIA Authoring Practices: arrows go from one to the next, Tab goes on to what it shows.

// `list` holds buttons whose aria-controls names what each shows; `chosen` is called with the one that is shown.
export function tabs(list, chosen = (_tab) => {}) {
  const all = () => [...list.querySelectorAll('[role="tab"]:not([hidden])')];

  function choose(tab) {
    for (const each of list.querySelectorAll('[role="tab"]')) {
      const shown = each === tab;
      each.setAttribute("aria-selected", shown);
      each.tabIndex = shown ? 0 : -1;
      document.getElementById(each.getAttribute("aria-controls")).hidden = !shown;
    }
    chosen(tab);
  }

  list.addEventListener("click", (event) => {
    const tab = event.target.closest('[role="tab"]');
    if (tab) choose(tab);
  });
  list.addEventListener("keydown", (event) => {
    const shown = all();
    const at = shown.indexOf(document.activeElement);
    const place = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: -1 }[event.key];
    if (at < 0 || place === undefined) return;
    event.preventDefault();
    const next = shown.at(place % shown.length);
    next.focus();
    choose(next);
  });
  return choose;
}
