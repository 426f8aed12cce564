// The scripts of the pages import each other by the paths at which they are served.

import { registerHooks } from "node:module";

const FOLDER = new URL("../../../../frontend/pages/static", import.meta.url);

registerHooks({
  resolve(name, context, next) {
    return name.startsWith("/") ? { ...next(`${FOLDER}${name}`, context), format: "module" } : next(name, context);
  },
  load(url, context, next) {
    return next(url, { ...context, format: url.endsWith(".js") ? "module" : context.format });
  },
});
