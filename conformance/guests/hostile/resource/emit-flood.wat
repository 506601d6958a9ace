;; emit-flood reports progress without end.
(import "extism:host/user" "portcullis_emit" (func $emit (param i64) (result i64)))
(data (i32.const 1024) "{\"message\":\"still here\",\"done\":1}")
(func (export "portcullis_invoke") (result i32)
  (local $b i64)
  (local.set $b (call $block (i32.const 1024) (i32.const 33)))
  (loop $l (drop (call $emit (local.get $b))) (br $l))
  (i32.const 0))
