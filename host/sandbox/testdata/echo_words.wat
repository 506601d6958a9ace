;; echo_words copies its input eight bytes at a time and then byte by byte, as
;; plain Extism PDKs do; its other export answers with the input block itself.
(module
  (import "extism:host/env" "input_length" (func $input_length (result i64)))
  (import "extism:host/env" "input_offset" (func $input_offset (result i64)))
  (import "extism:host/env" "input_load_u8" (func $input_load_u8 (param i64) (result i32)))
  (import "extism:host/env" "input_load_u64" (func $input_load_u64 (param i64) (result i64)))
  (import "extism:host/env" "store_u8" (func $store_u8 (param i64 i32)))
  (import "extism:host/env" "store_u64" (func $store_u64 (param i64 i64)))
  (import "extism:host/env" "alloc" (func $alloc (param i64) (result i64)))
  (import "extism:host/env" "output_set" (func $output_set (param i64 i64)))
  (func (export "run") (result i32)
    (local $n i64) (local $i i64) (local $block i64)
    (local.set $n (call $input_length))
    (local.set $block (call $alloc (local.get $n)))
    (block $tail
      (loop $words
        (br_if $tail (i64.gt_u (i64.add (local.get $i) (i64.const 8)) (local.get $n)))
        (call $store_u64 (i64.add (local.get $block) (local.get $i)) (call $input_load_u64 (local.get $i)))
        (local.set $i (i64.add (local.get $i) (i64.const 8)))
        (br $words)))
    (block $done
      (loop $bytes
        (br_if $done (i64.ge_u (local.get $i) (local.get $n)))
        (call $store_u8 (i64.add (local.get $block) (local.get $i)) (call $input_load_u8 (local.get $i)))
        (local.set $i (i64.add (local.get $i) (i64.const 1)))
        (br $bytes)))
    (call $output_set (local.get $block) (local.get $n))
    (i32.const 0))
  (func (export "same_block") (result i32)
    (call $output_set (call $input_offset) (call $input_length))
    (call $store_u8 (call $input_offset) (i32.const 33))
    (i32.const 0)))
