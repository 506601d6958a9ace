;; constructor-call keeps a value from a C constructor, before anybody's authority is bound.
(import "extism:host/user" "portcullis_kv_set" (func $set (param i64) (result i64)))
(data (i32.const 1024) "{\"key\":\"early\"}")
(func (export "__wasm_call_ctors") (drop (call $set (call $frame (i32.const 1024) (i32.const 15) (i32.const 4)))))
(func (export "portcullis_invoke") (result i32) (call $ok))
