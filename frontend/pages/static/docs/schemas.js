// A JSON Schema in words.

import { make, nameColumns } from "/shared/dom.js";

const MOST_CHOICES = 12;
const BOUNDS = [["Value", "minimum", "maximum"], ["Characters", "minLength", "maxLength"], ["Items", "minItems", "maxItems"]];
const COLUMNS = ["Name", "Type", "About"];

// What a value is: texts, and links to the schemas that have a name.
export function typeOf(schema) {
  if (schema.$ref) {
    const name = schema.$ref.split("/").at(-1);
    return [make("a", { href: `#${name}` }, name)];
  }
  if (schema.oneOf) return schema.oneOf.flatMap((each, place) => [...(place ? [" or "] : []), ...typeOf(each)]);
  if (schema.items) return ["list of ", ...typeOf(schema.items), ...(schema.type ? [] : [" or another form"])];
  return [schema.format === "binary" ? "file" : [schema.type ?? "anything"].flat().join(" or ")];
}

// The properties of an object as a table.
export function propertyTable(schema) {
  const rows = propertiesOf(schema).map(([name, each, required]) => {
    const note = required ? [make("div", { class: "note" }, "required")] : [];
    const title = make("th", { scope: "row" }, make("code", {}, name), ...note);
    return make("tr", {}, title, make("td", {}, make("span", {}, ...typeOf(each))), make("td", {}, ...about(each)));
  });
  const head = make("tr", {}, ...COLUMNS.map((column) => make("th", { scope: "col" }, column)));
  const table = make("table", { class: "cards" }, make("thead", {}, head), make("tbody", {}, ...rows));
  nameColumns(table);
  return table;
}

// Those of an object within an object have its name before theirs.
function propertiesOf({ properties = {}, required = [] }, before = "") {
  return Object.entries(properties).flatMap(([name, each]) =>
    each.properties ? propertiesOf(each, `${before}${name}.`) : [[before + name, each, required.includes(name)]],
  );
}

function about(schema) {
  const limits = BOUNDS.map(([what, least, most]) => bound(what, schema[least], schema[most]));
  const sentences = [schema.description, ...limits, "default" in schema && `If absent: ${schema.default}.`].filter(Boolean);
  return [...words(sentences.join(" ")), ...choices(schema.enum ?? schema.items?.enum ?? [])];
}

// What stands in backticks is code.
export const words = (text) => text.split("`").map((part, place) => (place % 2 ? make("code", {}, part) : part));

function choices(names) {
  const listed = names.flatMap((name, place) => [place ? ", " : "", make("code", {}, name)]);
  if (names.length > MOST_CHOICES) return [make("details", {}, make("summary", {}, `One of ${names.length} values`), ...listed)];
  return names.length ? [make("div", {}, names.length > 1 ? "One of " : "Always ", ...listed)] : [];
}

function bound(what, least, most) {
  if (least !== undefined && most !== undefined) return `${what}: ${least} to ${most}.`;
  if (most !== undefined) return `${what}: ${most} at most.`;
  return least ? `${what}: ${least} or more.` : "";
}
