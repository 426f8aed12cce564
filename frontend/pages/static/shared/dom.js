// Elements, made without markup: all contents stay text.

/** @type {(id: string) => any} */
export const byId = (id) => document.getElementById(id);

/** Children are elements or texts. @returns {any} */
export function make(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

// Gives each cell of a table the name of its column. On a narrow screen it stands before the value, if that is not nothing.
export function nameColumns(table) {
  const names = [...table.querySelectorAll("thead th")].map((each) => each.textContent);
  for (const cell of table.querySelectorAll("td:not(.actions)")) {
    cell.dataset.column = names[cell.cellIndex];
    cell.classList.toggle("none", ["0", "–"].includes(cell.textContent));
  }
}

// A button that copies what `text()` returns; `what` is its name for screen readers.
export function copyButton(text, what) {
  const button = make("button", { type: "button", class: "small", "aria-label": `Copy ${what}` }, "Copy");
  button.addEventListener("click", async () => {
    button.textContent = (await copied(text())) ? "Copied" : "Not copied";
    setTimeout(() => (button.textContent = "Copy"), 1500);
  });
  return button;
}

// The clipboard is there under https and on this machine alone; elsewhere a selection is copied.
async function copied(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const area = make("textarea", { readonly: "" });
    area.value = text;
    document.body.append(area);
    area.select();
    const done = document.execCommand("copy");
    area.remove();
    return done;
  }
}

export function number(value, decimals = 0) {
  return value.toLocaleString("en", { minimumFractionDigits: decimals, maximumFractionDigits: decimals });
}
