// The API key that was typed in: it stays in this tab, for all pages of it, and goes with it.

const NAME = "quartet-key";

export const storedKey = () => sessionStorage.getItem(NAME);
export const keepKey = (key) => sessionStorage.setItem(NAME, key);
export const forgetKey = () => sessionStorage.removeItem(NAME);

// Keeps what is typed into the field of `form`, and calls `taken`.
export function takeKey(form, taken) {
  const field = form.querySelector("input");
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    keepKey(field.value.trim());
    field.value = "";
    // The form goes, and the focus with it.
    document.getElementById("main").focus();
    taken();
  });
}
