;; init_effect tries to keep a value before its entry point is called.
(module
  (import "extism:host/env" "alloc" (func $alloc (param i64) (result i64)))
  (import "extism:host/env" "input_length" (func $input_length (result i64)))
  (import "extism:host/env" "output_set" (func $output_set (param i64 i64)))
  (import "extism:host/user" "portcullis_kv_set" (func $kv_set (param i64) (result i64)))
  (func (export "_initialize") (drop (call $kv_set (call $alloc (i64.const 1)))))
  (func (export "run") (result i32) (call $output_set (i64.const 0) (i64.const 0)) (i32.const 0)))
