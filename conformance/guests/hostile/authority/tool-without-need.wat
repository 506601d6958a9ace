;; tool-without-need keeps a value in a tool that does not say that it does; another tool of the plugin does.
(import "extism:host/user" "portcullis_kv_set" (func $set (param i64) (result i64)))
(data (i32.const 1024) "{\"key\":\"mine\"}")
(func (export "portcullis_invoke") (result i32)
  (call $tell (call $set (call $frame (i32.const 1024) (i32.const 14) (i32.const 4)))))
