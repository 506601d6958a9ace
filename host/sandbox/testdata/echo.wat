;; echo copies its input through linear memory with the two bulk calls, as the
;; Go SDK and a C guest do.
(module
  (import "extism:host/env" "input_length" (func $input_length (result i64)))
  (import "extism:host/env" "input_offset" (func $input_offset (result i64)))
  (import "extism:host/env" "alloc" (func $alloc (param i64) (result i64)))
  (import "extism:host/env" "output_set" (func $output_set (param i64 i64)))
  (import "extism:host/user" "portcullis_load" (func $load (param i64 i32 i32)))
  (import "extism:host/user" "portcullis_store" (func $store (param i64 i32 i32)))
  (memory (export "memory") 1)
  (func (export "run") (result i32)
    (local $n i64) (local $block i64) (local $pages i32)
    (local.set $n (call $input_length))
    (local.set $pages (i32.sub
      (i32.wrap_i64 (i64.shr_u (i64.add (local.get $n) (i64.const 65535)) (i64.const 16)))
      (memory.size)))
    (if (i32.gt_s (local.get $pages) (i32.const 0))
      (then (if (i32.lt_s (memory.grow (local.get $pages)) (i32.const 0)) (then (unreachable)))))
    (call $load (call $input_offset) (i32.const 0) (i32.wrap_i64 (local.get $n)))
    (local.set $block (call $alloc (local.get $n)))
    (call $store (local.get $block) (i32.const 0) (i32.wrap_i64 (local.get $n)))
    (call $output_set (local.get $block) (local.get $n))
    (i32.const 0)))
