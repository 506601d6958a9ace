// The guest of all languages, in JavaScript: it counts words, shows what it still knows of other calls, and goes wrong on
// request.

// What would show if one call could see another: a variable, and objects that the engine keeps.
let calls = 0;
const notes = [];
let deep = 0;

const how = {
  fault: (text) => {
    throw new Fault("invalid", text);
  },
  fail: (text) => {
    throw text;
  },
  break: (text) => {
    throw new Error(text);
  },
  spin: () => {
    for (;;) deep++;
  },
  hoard: () => {
    for (;;) notes.push(new Uint8Array(1 << 20).fill(1));
  },
  recurse: (n) => how.recurse(deep++) + 1,
};

plugin({
  id: "javascript",
  version: "1.0.0",
  summary: "Counts words.",
  license: "Apache-2.0",
  limits: { memory_bytes: 16 << 20, deadline_ms: 5000 },
  tools: {
    "javascript.count": {
      description: "Count the words of a text and find its longest.",
      input_schema: { type: "object", properties: { text: { type: "string" } }, required: ["text"], additionalProperties: false },
      output_schema: {
        type: "object",
        properties: { words: { type: "integer" }, longest: { type: "string" }, calls: { type: "integer" }, kept: { type: "integer" } },
        required: ["words", "longest", "calls", "kept"],
        additionalProperties: false,
      },
      risk: "low",
      approval: "auto",
      recovery: "read",
      run({ text }) {
        calls++;
        const words = text.split(/[ \n\t]+/).filter((word) => word !== "");
        const longest = words.reduce((best, word) => ([...word].length > [...best].length ? word : best), "");
        notes.push(text);
        return { words: words.length, longest, calls, kept: notes.length };
      },
    },
    "javascript.fault": {
      description: "Go wrong in one way.",
      input_schema: {
        type: "object",
        properties: { how: { enum: Object.keys(how) }, text: { type: "string" } },
        required: ["how", "text"],
        additionalProperties: false,
      },
      output_schema: { type: "object", maxProperties: 0 },
      risk: "low",
      approval: "auto",
      recovery: "read",
      run: (args) => how[args.how](args.text),
    },
  },
});
