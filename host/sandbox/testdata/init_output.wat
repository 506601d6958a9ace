;; init_output answers before it is asked.
(module
  (import "extism:host/env" "alloc" (func $alloc (param i64) (result i64)))
  (import "extism:host/env" "store_u8" (func $store_u8 (param i64 i32)))
  (import "extism:host/env" "output_set" (func $output_set (param i64 i64)))
  (global $b (mut i64) (i64.const 0))
  (func (export "_initialize")
    (global.set $b (call $alloc (i64.const 1)))
    (call $output_set (global.get $b) (i64.const 1)))
  (func (export "run") (result i32)
    (call $store_u8 (global.get $b) (i32.const 75))
    (i32.const 0)))
