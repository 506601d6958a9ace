// A plugin in JavaScript with one tool. What is to be changed first is its id, hello, which its tools' names begin with.
plugin({
  id: "hello",
  version: "1.0.0",
  summary: "Greets.",
  license: "Apache-2.0",
  tools: {
    "hello.greet": {
      description: "Greet somebody by name.",
      input_schema: { type: "object", properties: { name: { type: "string", maxLength: 100 } }, required: ["name"], additionalProperties: false },
      output_schema: { type: "object", properties: { greeting: { type: "string" } }, required: ["greeting"], additionalProperties: false },
      risk: "low",
      approval: "auto",
      recovery: "read",
      run: ({ name }) => ({ greeting: `Hello, ${name}!` }),
    },
  },
});
