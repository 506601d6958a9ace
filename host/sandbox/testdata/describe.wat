;; describe answers with a text, after an ability was denied to it.
(module
  (import "extism:host/env" "alloc" (func $alloc (param i64) (result i64)))
  (import "extism:host/env" "length" (func $length (param i64) (result i64)))
  (import "extism:host/env" "output_set" (func $output_set (param i64 i64)))
  (import "extism:host/user" "portcullis_http" (func $http (param i64) (result i64)))
  (func (export "portcullis_describe") (result i32)
    (local $b i64)
    (local.set $b (call $http (call $alloc (i64.const 1))))
    (call $output_set (local.get $b) (call $length (local.get $b)))
    (i32.const 0)))
