// A plugin in AssemblyScript with one tool. What is to be changed first is its id, hello, which its tools' names begin with.
import { answer, input, member, quote, text } from "./portcullis";

const description = `{"abi":"portcullis/v1","kind":"tool","id":"hello","version":"1.0.0","summary":"Greets.",
"license":"Apache-2.0","limits":{},"tools":[{"name":"hello.greet","description":"Greet somebody by name.",
"input_schema":{"type":"object","properties":{"name":{"type":"string","maxLength":100}},"required":["name"],"additionalProperties":false},
"output_schema":{"type":"object","properties":{"greeting":{"type":"string"}},"required":["greeting"],"additionalProperties":false},
"risk":"low","approval":"auto","recovery":"read"}]}`;

export function portcullis_describe(): i32 {
  return answer(description);
}

export function portcullis_invoke(): i32 {
  const name = text(member(member(input(), "args"), "name"));
  return answer(`{"result":{"greeting":${quote(`Hello, ${name}!`)}}}`);
}
