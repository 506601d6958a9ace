;; echo_args is the tool that answers a call with its own arguments. The call is
;; {"id":"...","tool":"...","args":{...}}; what stands before the arguments is
;; overwritten with {"result": and the closing brace serves both. Bytes go in and
;; out with the two bulk calls, as the Go SDK and a C guest do.
(module
  (import "extism:host/env" "input_length" (func $input_length (result i64)))
  (import "extism:host/env" "input_offset" (func $input_offset (result i64)))
  (import "extism:host/env" "alloc" (func $alloc (param i64) (result i64)))
  (import "extism:host/env" "output_set" (func $output_set (param i64 i64)))
  (import "extism:host/user" "portcullis_load" (func $load (param i64 i32 i32)))
  (import "extism:host/user" "portcullis_store" (func $store (param i64 i32 i32)))
  (memory (export "memory") 1)
  (func (export "portcullis_invoke") (result i32)
    (local $n i32) (local $at i32) (local $block i64) (local $pages i32)
    (local.set $n (i32.wrap_i64 (call $input_length)))
    (local.set $pages (i32.sub (i32.shr_u (i32.add (local.get $n) (i32.const 65535)) (i32.const 16)) (memory.size)))
    (if (i32.gt_s (local.get $pages) (i32.const 0))
      (then (if (i32.lt_s (memory.grow (local.get $pages)) (i32.const 0)) (then (unreachable)))))
    (call $load (call $input_offset) (i32.const 0) (local.get $n))
    (loop $search ;; for "args":{
      (if (i64.ne (i64.load (local.get $at)) (i64.const 0x7b3a227367726122))
        (then
          (local.set $at (i32.add (local.get $at) (i32.const 1)))
          (br_if $search (i32.lt_u (local.get $at) (i32.const 256)))
          (unreachable))))
    (local.set $at (i32.sub (local.get $at) (i32.const 3))) ;; {"result": is three bytes longer than "args":
    (i64.store (local.get $at) (i64.const 0x746c75736572227b))              ;; {"result
    (i32.store16 (i32.add (local.get $at) (i32.const 8)) (i32.const 0x3a22)) ;; ":
    (local.set $n (i32.sub (local.get $n) (local.get $at)))
    (local.set $block (call $alloc (i64.extend_i32_u (local.get $n))))
    (call $store (local.get $block) (local.get $at) (local.get $n))
    (call $output_set (local.get $block) (i64.extend_i32_u (local.get $n)))
    (i32.const 0)))
