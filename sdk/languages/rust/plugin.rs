//! A plugin in Rust with one tool. What is to be changed first is its id, hello, which its tools' names begin with.

mod portcullis;

use portcullis::{answer, call, quote, reply};

const DESCRIPTION: &str = r#"{"abi":"portcullis/v1","kind":"tool","id":"hello","version":"1.0.0","summary":"Greets.",
"license":"Apache-2.0","limits":{},"tools":[{"name":"hello.greet","description":"Greet somebody by name.",
"input_schema":{"type":"object","properties":{"name":{"type":"string","maxLength":100}},"required":["name"],"additionalProperties":false},
"output_schema":{"type":"object","properties":{"greeting":{"type":"string"}},"required":["greeting"],"additionalProperties":false},
"risk":"low","approval":"auto","recovery":"read"}]}"#;

#[no_mangle]
pub extern "C" fn portcullis_describe() -> i32 {
    answer(DESCRIPTION)
}

#[no_mangle]
pub extern "C" fn portcullis_invoke() -> i32 {
    let mut call = call();
    reply(match call.tool.as_str() {
        "hello.greet" => Ok(greet(&call.args.text("name"))),
        other => Err(("invalid", format!("there is no tool {other}"))),
    })
}

fn greet(name: &str) -> String {
    format!(r#"{{"greeting":{}}}"#, quote(&format!("Hello, {name}!")))
}
