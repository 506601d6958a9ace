;; start_effect tries to keep a value in its start function.
(module
  (import "extism:host/env" "alloc" (func $alloc (param i64) (result i64)))
  (import "extism:host/user" "portcullis_kv_set" (func $kv_set (param i64) (result i64)))
  (func $start (drop (call $kv_set (call $alloc (i64.const 1)))))
  (start $start)
  (func (export "run") (result i32) (i32.const 0)))
