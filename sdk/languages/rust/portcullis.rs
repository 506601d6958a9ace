//! portcullis.rs: a plugin in Rust (portcullis/v1), in one module of the standard library alone. Copy it beside your
//! source and write `mod portcullis;`.
//!
//! It has the imports that every plugin needs, the way from a call to its answer, and a small reader of JSON. What comes
//! in was read strictly by the host and fits the tool's schema. A crate such as serde_json does the same with more comfort.
#![allow(dead_code)]

/// What the host lends to every plugin; an offset names a block of its memory.
mod host {
    #[link(wasm_import_module = "extism:host/env")]
    extern "C" {
        pub fn alloc(n: u64) -> u64;
        pub fn length(block: u64) -> u64;
        pub fn input_offset() -> u64;
        pub fn output_set(block: u64, n: u64);
        pub fn error_set(block: u64);
    }
    #[link(wasm_import_module = "extism:host/user")]
    extern "C" {
        pub fn portcullis_load(block: u64, to: *mut u8, n: u32);
        pub fn portcullis_store(block: u64, from: *const u8, n: u32);
    }
}

fn take(block: u64) -> String {
    let n = if block == 0 { 0 } else { unsafe { host::length(block) } } as usize;
    let mut bytes = vec![0; n];
    if n > 0 {
        unsafe { host::portcullis_load(block, bytes.as_mut_ptr(), n as u32) };
    }
    String::from_utf8(bytes).expect("what the host gives is UTF-8")
}

fn give(bytes: &[u8]) -> u64 {
    let block = unsafe { host::alloc(bytes.len() as u64) };
    if !bytes.is_empty() {
        unsafe { host::portcullis_store(block, bytes.as_ptr(), bytes.len() as u32) };
    }
    block
}

/// Calls a host function: declare it in a block like those above, module `extism:host/user`, and name it here.
pub fn ask(function: unsafe extern "C" fn(u64) -> u64, argument: &str) -> String {
    take(unsafe { function(if argument.is_empty() { 0 } else { give(argument.as_bytes()) }) })
}

/// Ends an entry point with an answer: what it returns is what the entry point returns.
pub fn answer(json: &str) -> i32 {
    unsafe { host::output_set(give(json.as_bytes()), json.len() as u64) };
    0
}

/// Ends an entry point without one. The words are for the operator.
pub fn failed(why: &str) -> i32 {
    unsafe { host::error_set(give(why.as_bytes())) };
    1
}

/// Says `reply` for a result (JSON text), or the fault's code and message.
pub fn reply(outcome: Result<String, (&str, String)>) -> i32 {
    match outcome {
        Ok(result) => answer(&format!("{{\"result\":{result}}}")),
        Err((code, message)) => answer(&format!("{{\"fault\":{{\"code\":{},\"message\":{}}}}}", quote(code), quote(&message))),
    }
}

/// One call of a tool.
pub struct Call {
    pub id: String,
    pub tool: String,
    pub args: Json,
}

/// Reads the call. From here on a panic tells the operator its words, and not only that the guest broke off.
pub fn call() -> Call {
    std::panic::set_hook(Box::new(|info| {
        failed(&info.to_string());
    }));
    let mut all = Json::read(&take(unsafe { host::input_offset() }));
    let (id, tool) = (all.text("id"), all.text("tool"));
    Call { id, tool, args: all.remove("args") }
}

/// A JSON value. Numbers are kept as they were written.
#[derive(Clone, Debug, PartialEq)]
pub enum Json {
    Null,
    Bool(bool),
    Number(String),
    Text(String),
    List(Vec<Json>),
    Object(Vec<(String, Json)>),
}

impl Json {
    /// Reads a text that the host has found to be JSON; anything else panics.
    pub fn read(text: &str) -> Json {
        value(&mut text.trim_start())
    }

    /// The member of an object, Null where there is none.
    pub fn remove(&mut self, name: &str) -> Json {
        match self {
            Json::Object(members) => match members.iter().position(|(key, _)| key == name) {
                Some(i) => members.swap_remove(i).1,
                None => Json::Null,
            },
            _ => Json::Null,
        }
    }

    /// The text of an object's member, empty where there is none.
    pub fn text(&mut self, name: &str) -> String {
        match self.remove(name) {
            Json::Text(s) => s,
            _ => String::new(),
        }
    }

    /// The number of an object's member.
    pub fn number(&mut self, name: &str) -> Option<f64> {
        match self.remove(name) {
            Json::Number(s) => s.parse().ok(),
            _ => None,
        }
    }
}

fn eat(rest: &mut &str, n: usize) {
    *rest = rest[n..].trim_start();
}

fn value(rest: &mut &str) -> Json {
    match rest.as_bytes()[0] {
        b'"' => Json::Text(string(rest)),
        b'[' => {
            let mut items = vec![];
            eat(rest, 1);
            while !rest.starts_with(']') {
                items.push(value(rest));
                if rest.starts_with(',') {
                    eat(rest, 1);
                }
            }
            eat(rest, 1);
            Json::List(items)
        }
        b'{' => {
            let mut members = vec![];
            eat(rest, 1);
            while !rest.starts_with('}') {
                let key = string(rest);
                eat(rest, 1); // the colon
                members.push((key, value(rest)));
                if rest.starts_with(',') {
                    eat(rest, 1);
                }
            }
            eat(rest, 1);
            Json::Object(members)
        }
        _ => {
            let n = rest.find(|c: char| ",]} \t\r\n".contains(c)).unwrap_or(rest.len());
            let word = rest[..n].to_string();
            eat(rest, n);
            match word.as_str() {
                "null" => Json::Null,
                "true" => Json::Bool(true),
                "false" => Json::Bool(false),
                _ => Json::Number(word),
            }
        }
    }
}

fn string(rest: &mut &str) -> String {
    let mut out = String::new();
    let mut left = rest[1..].chars();
    loop {
        match left.next().expect("a string ends") {
            '"' => break,
            '\\' => match left.next().expect("an escape ends") {
                'b' => out.push('\u{8}'),
                'f' => out.push('\u{c}'),
                'n' => out.push('\n'),
                'r' => out.push('\r'),
                't' => out.push('\t'),
                'u' => {
                    let mut u = hex4(&mut left);
                    if u >> 10 == 0x36 {
                        left.nth(1); // the other half of the pair
                        u = 0x10000 + ((u & 0x3ff) << 10 | hex4(&mut left) & 0x3ff);
                    }
                    out.push(char::from_u32(u).expect("no half of a pair stands alone"));
                }
                c => out.push(c),
            },
            c => out.push(c),
        }
    }
    *rest = left.as_str().trim_start();
    out
}

fn hex4(left: &mut std::str::Chars) -> u32 {
    left.by_ref().take(4).fold(0, |u, c| u << 4 | c.to_digit(16).expect("four digits"))
}

/// A text as a JSON string.
pub fn quote(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            c if c < ' ' => out += &format!("\\u{:04x}", c as u32),
            c => out.push(c),
        }
    }
    out + "\""
}
