// A request as a command or program that sends exactly the same.
//
// A request has `path`, and either `json` (an object) or `form` (pairs of a name and a text or a File), and may have
// `saves`, the file that its answer is put into.

const KEY = "QUARTET_API_KEY";
const SUBTITLES = ["srt", "vtt"];
const json = (value) => {
  const short = JSON.stringify(value);
  return short.length < 60 ? short : JSON.stringify(value, null, 2);
};
const inShell = (text) => `'${text.replaceAll("'", "'\\''")}'`;
const indented = (text, by) => text.replaceAll("\n", `\n${by}`);

export function recipes(request, origin) {
  return { curl: curl(request, origin), Python: python(request, origin), JavaScript: javascript(request, origin) };
}

/** @param {any} request @param {string} origin */
export function curl(request, origin, key = KEY) {
  const { path, json: body, form = [], saves } = request;
  const lines = [`curl -s${fields(form).stream ? "N" : ""} ${origin}${path}`, `-H "Authorization: Bearer $${key}"`];
  if (body) lines.push(`-H "Content-Type: application/json"`, `-d ${inShell(indented(json(body), "  "))}`);
  for (const [name, value] of form) {
    const file = value instanceof File;
    // Quotes and backslashes in a file's name are curl's own.
    const text = file ? `${name}=@"${value.name.replace(/["\\]/g, "\\$&")}"` : `${name}=${value}`;
    lines.push(`${file ? "-F" : "--form-string"} ${inShell(text)}`);
  }
  if (saves) lines.push(`-o ${saves}`);
  return lines.join(" \\\n  ");
}

// JSON's texts are Python's too.
function inPython(value) {
  if (Array.isArray(value)) return `[${value.map(inPython).join(", ")}]`;
  return typeof value === "boolean" ? (value ? "True" : "False") : JSON.stringify(value);
}

const named = (values) => Object.entries(values).map(([name, value]) => `    ${name}=${inPython(value)},\n`).join("");

// The fields of a form by the names of OpenAI's client; one that stands there several times is a list.
function fields(form) {
  const found = {};
  for (const [name, value] of form) {
    if (name === "stream") found.stream = true;
    else if (name.endsWith("[]")) (found[name.slice(0, -2)] ??= []).push(value);
    else if (!(value instanceof File)) found[name] = value;
  }
  return found;
}

// How OpenAI's client gives a transcript: as events, as a text, or as an object.
function transcript({ stream, response_format: format = "json" }) {
  if (stream) return `for event in answer:\n    print(event)`;
  return SUBTITLES.includes(format) ? "print(answer)" : "print(answer.text)";
}

const transcription = ({ path, form }) =>
  `answer = client.audio.${path.split("/").at(-1)}.create(\n    file=open(${inPython(form[0][1].name)}, "rb"),\n` +
  `${named(fields(form))})\n${transcript(fields(form))}\n`;

const CALLS = {
  "/v1/audio/speech": ({ json: body, saves }) =>
    `speech = client.audio.speech.create(\n${named(body)})\nspeech.write_to_file("${saves}")\n`,
  "/v1/audio/transcriptions": transcription,
  "/v1/audio/translations": transcription,
  "/v1/embeddings": ({ json: body }) =>
    `answer = client.embeddings.create(\n${named(body)})\nprint([item.embedding[:3] for item in answer.data])\n`,
  // OpenAI has no such call; its client sends it all the same.
  "/v1/rerank": ({ json: body }) =>
    `body = {\n${Object.entries(body).map(([name, value]) => `    "${name}": ${inPython(value)},\n`).join("")}}\n` +
    `answer = client.post("/rerank", body=body, cast_to=object)\nprint(answer["results"])\n`,
};

function python(request, origin) {
  return `import os
from openai import OpenAI

client = OpenAI(base_url="${origin}/v1", api_key=os.environ["${KEY}"])
${CALLS[request.path](request)}`;
}

function javascript({ path, json: body, form = [], saves }, origin) {
  const file = form.some(([, value]) => value instanceof File);
  const { stream, response_format: format } = fields(form);
  const imports = file || saves ? `import { ${file ? "openAsBlob" : "writeFileSync"} } from "node:fs";\n\n` : "";
  const parts = form.map(([name, value]) =>
    value instanceof File
      ? `form.append("${name}", await openAsBlob(${JSON.stringify(value.name)}), ${JSON.stringify(value.name)});\n`
      : `form.append("${name}", ${JSON.stringify(value)});\n`,
  );
  const type = body ? `, "Content-Type": "application/json"` : "";
  const sent = body ? `JSON.stringify(${indented(json(body), "  ")})` : "form";
  const use = saves
    ? `writeFileSync("${saves}", Buffer.from(await answer.arrayBuffer()));\n`
    : `console.log(await answer.${stream || SUBTITLES.includes(format) ? "text" : "json"}());\n`;
  return `${imports}${file ? `const form = new FormData();\n${parts.join("")}` : ""}const answer = await fetch("${origin}${path}", {
  method: "POST",
  headers: { Authorization: \`Bearer \${process.env.${KEY}}\`${type} },
  body: ${sent},
});
${use}`;
}
