// The API key that was typed in: it stays in this tab, for all pages of it, and goes with it.

const NAME = "quartet-key";

export const storedKey = () => sessionStorage.getItem(NAME);
export const keepKey = (key) => sessionStorage.setItem(NAME, key);
export const forgetKey = () => sessionStorage.removeItem(NAME);
