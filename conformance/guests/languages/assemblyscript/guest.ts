// The guest of all languages, in AssemblyScript: it counts words, shows what it still knows of other calls, and goes wrong
// on request.
import { answer, failed, input, member, quote, text } from "./portcullis";

const description = `{"abi":"portcullis/v1","kind":"tool","id":"assemblyscript","version":"1.0.0","summary":"Counts words.",
"license":"Apache-2.0","limits":{"memory_bytes":16777216,"deadline_ms":5000},"tools":[
{"name":"assemblyscript.count","description":"Count the words of a text and find its longest.",
"input_schema":{"type":"object","properties":{"text":{"type":"string"}},"required":["text"],"additionalProperties":false},
"output_schema":{"type":"object","properties":{"words":{"type":"integer"},"longest":{"type":"string"},
"calls":{"type":"integer"},"kept":{"type":"integer"}},"required":["words","longest","calls","kept"],"additionalProperties":false},
"risk":"low","approval":"auto","recovery":"read"},
{"name":"assemblyscript.fault","description":"Go wrong in one way.","input_schema":{"type":"object",
"properties":{"how":{"enum":["fault","fail","break","spin","hoard","recurse"]},"text":{"type":"string"}},
"required":["how","text"],"additionalProperties":false},
"output_schema":{"type":"object","maxProperties":0},"risk":"low","approval":"auto","recovery":"read"}]}`;

// What would show if one call could see another: a variable, and objects that the collector keeps.
let calls = 0;
const notes: string[] = [];
const hoarded: ArrayBuffer[] = [];
let deep = 0;

export function portcullis_describe(): i32 {
  return answer(description);
}

export function portcullis_invoke(): i32 {
  const call = input(), args = member(call, "args"), said = text(member(args, "text"));
  calls++;
  if (text(member(call, "tool")) == "assemblyscript.count") return answer(`{"result":${count(said)}}`);
  return fault(text(member(args, "how")), said);
}

function count(said: string): string {
  let words = 0, most = 0, longest = "";
  const all = said.replaceAll("\n", " ").replaceAll("\t", " ").split(" ");
  for (let i = 0; i < all.length; i++) {
    const word = all[i];
    let characters = 0;
    for (let j = 0; j < word.length; j++) characters += <i32>((word.charCodeAt(j) & 0xfc00) != 0xdc00);
    if (characters > 0) words++;
    if (characters > most) {
      most = characters;
      longest = word;
    }
  }
  notes.push(said);
  return `{"words":${words},"longest":${quote(longest)},"calls":${calls},"kept":${notes.length}}`;
}

function fault(how: string, said: string): i32 {
  if (how == "fault") return answer(`{"fault":{"code":"invalid","message":${quote(said)}}}`);
  if (how == "break") throw new Error(said);
  while (how == "spin") deep++;
  while (how == "hoard") hoarded.push(new ArrayBuffer(1 << 20));
  if (how == "recurse") return recurse(0);
  return failed(said);
}

function recurse(n: i32): i32 {
  deep = n;
  return n < 0 ? 0 : recurse(n + 1) ^ deep;
}
