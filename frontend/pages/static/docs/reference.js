// The page: each operation of /openapi.json with an example, and each schema.

import { byId, copyButton, make, nameColumns } from "/shared/dom.js";
import { curl } from "/shared/recipes.js";
import { propertyTable, typeOf, words } from "./schemas.js";

const MOBILE_TOKEN = "QUARTET_MOBILE_JWT";

function operationSection({ path, method, operationId: name, summary, description, tags, requestBody, parameters = [], responses }) {
  const content = requestBody?.content ?? {};
  const [form, json] = [content["multipart/form-data"]?.schema, content["application/json"]];
  const named = form ?? json?.schema ?? { properties: Object.fromEntries(parameters.map((each) => [each.name, each.schema])), required: parameters.filter((each) => each.required).map((each) => each.name) };
  const given = named.properties && Object.keys(named.properties).length ? [make("h3", {}, "Parameters"), propertyTable(named)] : [];
  return section(
    name, summary, "operation",
    make("p", { class: "address" }, make("code", {}, `${method.toUpperCase()} ${path}`)),
    ...(description ? [make("p", {}, ...words(description))] : []),
    ...given,
    ...(json ? example(name, curl({ path, json: json.example }, location.origin, tags.includes("mobile") ? MOBILE_TOKEN : undefined)) : []),
    make("h3", {}, "Answers"),
    ...answers(responses),
  );
}

function example(name, command) {
  const shown = make("pre", { class: "code command", tabindex: "0", role: "group", "aria-label": `${name} with curl` }, command);
  return [make("h3", {}, "Example"), make("div", { class: "bar" }, make("span", {}, "With curl"), copyButton(() => command, `the command of ${name}`)), shown];
}

function section(id, title, kind, ...content) {
  return make("section", { id, class: `card ${kind}`, "aria-labelledby": `${id}-title` }, make("h2", { id: `${id}-title` }, title), ...content);
}

function answers({ 101: socket, 200: good, ...refused }) {
  const items = socket ? [make("li", {}, "101, and a WebSocket")] : Object.entries(good.content).map(([type, { schema }]) => make("li", {}, make("code", {}, type), " ", ...typeOf(schema)));
  return [make("ul", {}, ...items), make("p", {}, make("a", { href: "#errors" }, "Errors"), `: ${Object.keys(refused).join(", ")}.`)];
}

function schemaSection([name, schema]) {
  const title = make("summary", {}, make("h2", {}, name));
  return make("details", { id: name, class: "card schema" }, title, propertyTable(schema));
}

function errorRows({ components: { responses } }, operations) {
  const found = new Map(operations.flatMap((operation) => Object.entries(operation.responses)));
  return [...found].filter(([, { $ref: named }]) => named).sort().map(([status, { $ref: named }]) =>
    make("tr", {}, make("th", { scope: "row" }, status), make("td", {}, ...words(responses[named.split("/").at(-1)].description))),
  );
}

async function start() {
  const api = await fetch("/openapi.json").then((answer) => (answer.ok ? answer.json() : null)).catch(() => null);
  if (!api) {
    byId("message").textContent = "The server does not answer. Load the page again in a moment.";
    return;
  }
  const operations = Object.entries(api.paths).flatMap(([path, item]) => Object.entries(item).map(([method, operation]) => ({ path, method, ...operation })));
  byId("operations").append(...operations.map(operationSection));
  byId("errors").querySelector("tbody").append(...errorRows(api, operations));
  nameColumns(byId("errors").querySelector("table"));
  byId("schemas").append(...Object.entries(api.components.schemas).map(schemaSection));
  const links = [...document.querySelectorAll("article h2")].map((title) => make("a", { href: `#${title.closest(".card").id}` }, title.textContent));
  byId("contents").querySelector("ul").append(...links.map((link) => make("li", {}, link)));
  // What an address names was not there when the page was loaded.
  unfold();
  addEventListener("hashchange", unfold);
}

function unfold() {
  const named = byId(location.hash.slice(1));
  if (named?.matches("details")) named.open = true;
  named?.scrollIntoView();
}

start();
