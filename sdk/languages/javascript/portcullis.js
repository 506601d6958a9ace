// portcullis.js: what a plugin in JavaScript (portcullis/v1) is written with. It runs before plugin.js, in the same global
// scope. The engine is QuickJS: the language of 2020, without modules, timers, fetch or a console of its own.
"use strict";

/** Throw one to answer "no" in a way that the model reads: code is invalid, not_found, denied … */
class Fault extends Error {
  constructor(code, message) {
    super(message);
    this.code = code;
  }
}

/** Lines for the operator, never for the model. */
const console = Object.fromEntries(
  ["debug", "info", "warn", "error"].map((level) => [
    level,
    (...words) => host.call("portcullis_log", JSON.stringify({ level, message: words.join(" ") })),
  ]),
);
console.log = console.info;

/** The host's clock, in milliseconds. */
host.now = () => JSON.parse(host.call("portcullis_now")).unix_ms;

/** The host's randomness: 1 to 1024 bytes. Math.random is seeded in initialisation and is the same in every call. */
host.random = (n) => new Uint8Array(host.call("portcullis_random", JSON.stringify({ n })));

let __description, __tools;

/** Says what the plugin is: id, version, summary, license, limits, and tools by name, each with its run(args, call). */
function plugin({ tools, ...rest }) {
  __tools = tools;
  __description = {
    abi: "portcullis/v1",
    kind: "tool",
    limits: {},
    ...rest,
    tools: Object.entries(tools).map(([name, { run, ...tool }]) => ({ name, ...tool })),
  };
}

function __describe() {
  return JSON.stringify(__description);
}

function __invoke(input) {
  const call = JSON.parse(input);
  try {
    return JSON.stringify({ result: __tools[call.tool].run(call.args, call) });
  } catch (e) {
    if (!(e instanceof Fault)) throw e;
    return JSON.stringify({ fault: { code: e.code, message: e.message } });
  }
}
