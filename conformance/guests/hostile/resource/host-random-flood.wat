;; host-random-flood asks the host for randomness without end.
(import "extism:host/user" "portcullis_random" (func $random (param i64) (result i64)))
(data (i32.const 1024) "{\"n\":1024}")
(func (export "portcullis_invoke") (result i32)
  (local $b i64)
  (local.set $b (call $block (i32.const 1024) (i32.const 10)))
  (loop $l (call $free (call $random (local.get $b))) (br $l))
  (i32.const 0))
