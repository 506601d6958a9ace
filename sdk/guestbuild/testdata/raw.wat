;; The plugin "size" by hand: one tool, no toolchain, no runtime. raw.wasm is this
;; file through wat2wasm (WABT); docs/writing-a-plugin.md walks through it.
(module
  (import "extism:host/env" "alloc" (func $alloc (param i64) (result i64)))
  (import "extism:host/env" "output_set" (func $output_set (param i64 i64)))
  (import "extism:host/env" "input_length" (func $input_length (result i64)))
  (import "extism:host/user" "portcullis_store" (func $store (param i64 i32 i32)))
  (memory (export "memory") 1)
  ;; What the exports answer, as bytes in the guest's own memory.
  (data (i32.const 0) "{\"abi\":\"portcullis/v1\",\"kind\":\"tool\",\"id\":\"size\",\"version\":\"1.0.0\",\"summary\":\"Tells how long a call is.\",\"license\":\"Apache-2.0\",\"limits\":{},\"tools\":[{\"name\":\"size.of\",\"description\":\"Count the digits of the call's length.\",\"input_schema\":{\"type\":\"object\"},\"output_schema\":{\"type\":\"object\",\"properties\":{\"long\":{\"type\":\"boolean\"}}},\"risk\":\"low\",\"approval\":\"auto\",\"recovery\":\"read\"}]}")
  (data (i32.const 1024) "{\"result\":{\"long\":true}}")
  (data (i32.const 1056) "{\"result\":{\"long\":false}}")
  ;; Copies $n bytes at $at into a block of the host and makes it the output.
  (func $answer (param $at i32) (param $n i32) (result i32)
    (local $block i64)
    (local.set $block (call $alloc (i64.extend_i32_u (local.get $n))))
    (call $store (local.get $block) (local.get $at) (local.get $n))
    (call $output_set (local.get $block) (i64.extend_i32_u (local.get $n)))
    (i32.const 0))
  (func (export "portcullis_describe") (result i32)
    (call $answer (i32.const 0) (i32.const 381)))
  (func (export "portcullis_invoke") (result i32)
    (if (result i32) (i64.gt_u (call $input_length) (i64.const 100))
      (then (call $answer (i32.const 1024) (i32.const 24)))
      (else (call $answer (i32.const 1056) (i32.const 25))))))
