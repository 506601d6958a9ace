// portcullis.ts: a plugin in AssemblyScript (portcullis/v1), in one module without a dependency. Copy it beside your
// source.
//
// It has the imports that every plugin needs, the way from a call to its answer, and as much JSON as a tool with simple
// arguments wants. What comes in was read strictly by the host and fits the tool's schema.

// @ts-ignore: decorator
@external("extism:host/env", "alloc") declare function alloc(n: u64): u64;
// @ts-ignore: decorator
@external("extism:host/env", "length") declare function length(block: u64): u64;
// @ts-ignore: decorator
@external("extism:host/env", "input_offset") declare function input_offset(): u64;
// @ts-ignore: decorator
@external("extism:host/env", "output_set") declare function output_set(block: u64, n: u64): void;
// @ts-ignore: decorator
@external("extism:host/env", "error_set") declare function error_set(block: u64): void;
// @ts-ignore: decorator
@external("extism:host/user", "portcullis_load") declare function load_block(block: u64, to: usize, n: u32): void;
// @ts-ignore: decorator
@external("extism:host/user", "portcullis_store") declare function store_block(block: u64, from: usize, n: u32): void;

/** Copies a block of the host: what a host function answered. */
export function take(block: u64): string {
  const n = block == 0 ? 0 : <u32>length(block);
  const bytes = new ArrayBuffer(n);
  if (n > 0) load_block(block, changetype<usize>(bytes), n);
  return String.UTF8.decode(bytes);
}

/** Copies a text into a new block of the host: what a host function is asked. */
export function give(text: string): u64 {
  const bytes = String.UTF8.encode(text);
  const block = alloc(bytes.byteLength);
  if (bytes.byteLength > 0) store_block(block, changetype<usize>(bytes), bytes.byteLength);
  return block;
}

/** The call: {"id":…,"tool":…,"args":{…}}. */
export function input(): string {
  return take(input_offset());
}

/** Ends an entry point with an answer: `return answer(…)`. */
export function answer(json: string): i32 {
  const block = give(json);
  output_set(block, length(block));
  return 0;
}

/** Ends an entry point without one. The words are for the operator. */
export function failed(why: string): i32 {
  error_set(give(why));
  return 1;
}

/** What `throw` and a failed assertion become; name it to the compiler with `--use abort=portcullis/aborted`. */
export function aborted(message: string | null, file: string | null, line: u32, column: u32): void {
  failed((message ? message : "aborted") + " at " + (file ? file : "?") + ":" + line.toString() + ":" + column.toString());
  unreachable();
}

// --- Reading JSON. A value is its text; one that is not there is "". ---

function space(c: i32): bool {
  return c == 0x20 || c == 0x0a || c == 0x0d || c == 0x09;
}

/** Where the value that begins at `i` ends. */
function end(json: string, i: i32): i32 {
  let depth = 0, quoted = false;
  const start = i;
  for (; i < json.length; i++) {
    const c = json.charCodeAt(i);
    if (quoted) {
      if (c == 0x5c) i++;
      else if (c == 0x22) quoted = false;
    } else if (c == 0x22) quoted = true;
    else if (c == 0x7b || c == 0x5b) depth++;
    else if (depth > 0 && (c == 0x7d || c == 0x5d)) depth--;
    else if (depth == 0 && i > start && (c == 0x2c || c == 0x3a || c == 0x5d || c == 0x7d)) break;
  }
  return i;
}

/** The value of an object's member. */
export function member(object: string, name: string): string {
  let i = 1;
  while (i < object.length) {
    while (i < object.length && space(object.charCodeAt(i))) i++;
    if (i >= object.length || object.charCodeAt(i) != 0x22) break;
    const colon = end(object, i);
    const comma = end(object, colon + 1);
    if (text(object.substring(i, colon)) == name) return object.substring(colon + 1, comma).trim();
    i = comma + 1;
  }
  return "";
}

/** The text of a JSON string. */
export function text(value: string): string {
  value = value.trim();
  let out = "", from = 1;
  const last = value.length - 1;
  for (let i = 1; i < last; i++) {
    if (value.charCodeAt(i) != 0x5c) continue;
    out += value.substring(from, i);
    const c = value.charAt(++i);
    const known = "bfnrt".indexOf(c);
    if (c == "u") { // halves of a pair come one after the other, as AssemblyScript keeps them
      out += String.fromCharCode(<i32>parseInt(value.substring(i + 1, i + 5), 16));
      i += 4;
    } else out += known < 0 ? c : "\b\f\n\r\t".charAt(known);
    from = i + 1;
  }
  return out + value.substring(from, max(from, last));
}

/** A text as a JSON string. */
export function quote(text: string): string {
  let out = '"', from = 0;
  for (let i = 0; i < text.length; i++) {
    const c = text.charCodeAt(i);
    if (c >= 0x20 && c != 0x22 && c != 0x5c) continue;
    out += text.substring(from, i) + (c < 0x20 ? "\\u00" + (c >> 4).toString(16) + (c & 15).toString(16) : "\\" + text.charAt(i));
    from = i + 1;
  }
  return out + text.substring(from) + '"';
}
