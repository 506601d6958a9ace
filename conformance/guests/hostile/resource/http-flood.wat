;; http-flood makes the request of its arguments without end.
(import "extism:host/user" "portcullis_http" (func $http (param i64) (result i64)))
(func (export "portcullis_invoke") (result i32)
  (local $b i64)
  (local.set $b (call $args))
  (loop $l (call $free (call $http (local.get $b))) (br $l))
  (i32.const 0))
