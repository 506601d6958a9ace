//! The guest of all languages, in Rust: it counts words, shows what it still knows of other calls, and goes wrong on
//! request.

mod portcullis;

use portcullis::{answer, call, failed, quote, reply};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::sync::Mutex;

const DESCRIPTION: &str = r#"{"abi":"portcullis/v1","kind":"tool","id":"rust","version":"1.0.0","summary":"Counts words.",
"license":"Apache-2.0","limits":{"memory_bytes":16777216,"deadline_ms":5000},"tools":[
{"name":"rust.count","description":"Count the words of a text and find its longest.",
"input_schema":{"type":"object","properties":{"text":{"type":"string"}},"required":["text"],"additionalProperties":false},
"output_schema":{"type":"object","properties":{"words":{"type":"integer"},"longest":{"type":"string"},
"calls":{"type":"integer"},"kept":{"type":"integer"}},"required":["words","longest","calls","kept"],"additionalProperties":false},
"risk":"low","approval":"auto","recovery":"read"},
{"name":"rust.fault","description":"Go wrong in one way.","input_schema":{"type":"object",
"properties":{"how":{"enum":["fault","fail","break","spin","hoard","recurse"]},"text":{"type":"string"}},
"required":["how","text"],"additionalProperties":false},
"output_schema":{"type":"object","maxProperties":0},"risk":"low","approval":"auto","recovery":"read"}]}"#;

// What would show if one call could see another: a static, and what it owns on the heap.
static CALLS: AtomicU32 = AtomicU32::new(0);
static NOTES: Mutex<Vec<String>> = Mutex::new(Vec::new());
static DEEP: AtomicU32 = AtomicU32::new(0);

#[no_mangle]
pub extern "C" fn portcullis_describe() -> i32 {
    answer(DESCRIPTION)
}

#[no_mangle]
pub extern "C" fn portcullis_invoke() -> i32 {
    let mut call = call();
    let text = call.args.text("text");
    CALLS.fetch_add(1, Relaxed);
    match call.tool.as_str() {
        "rust.count" => reply(Ok(count(text))),
        _ => fault(&call.args.text("how"), text),
    }
}

fn count(text: String) -> String {
    let words = || text.split(|c| matches!(c, ' ' | '\n' | '\t')).filter(|word| !word.is_empty());
    let longest = words().rev().max_by_key(|word| word.chars().count()).unwrap_or("");
    let mut notes = NOTES.lock().unwrap();
    notes.push(text.clone());
    let (words, calls, kept) = (words().count(), CALLS.load(Relaxed), notes.len());
    format!(r#"{{"words":{words},"longest":{},"calls":{calls},"kept":{kept}}}"#, quote(longest))
}

fn fault(how: &str, text: String) -> i32 {
    match how {
        "fault" => reply(Err(("invalid", text))),
        "break" => panic!("{}", text),
        "spin" => loop {
            DEEP.fetch_add(1, Relaxed);
        },
        "hoard" => loop {
            NOTES.lock().unwrap().push("x".repeat(1 << 20));
        },
        "recurse" => recurse(0) as i32,
        _ => failed(&text),
    }
}

fn recurse(n: u32) -> u32 {
    DEEP.store(n, Relaxed);
    match n {
        u32::MAX => 0,
        _ => recurse(n + 1) ^ DEEP.load(Relaxed),
    }
}
