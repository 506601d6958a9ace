;; import-wrong-type imports a host function as if it took a pointer and a length.
(module
  (import "extism:host/user" "portcullis_now" (func $now (param i32 i32) (result i64)))
  (func (export "portcullis_invoke") (result i32) (drop (call $now (i32.const 0) (i32.const 0))) (i32.const 0)))
