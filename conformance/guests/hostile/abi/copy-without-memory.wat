;; copy-without-memory has no memory and has the host copy into it.
(module
  (import "extism:host/env" "input_offset" (func $input_offset (result i64)))
  (import "extism:host/user" "portcullis_load" (func $load (param i64 i32 i32)))
  (func (export "portcullis_invoke") (result i32)
    (call $load (call $input_offset) (i32.const 0) (i32.const 8))
    (i32.const 0)))
