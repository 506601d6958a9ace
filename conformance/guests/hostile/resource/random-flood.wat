;; random-flood has its memory filled with randomness without end.
(import "wasi_snapshot_preview1" "random_get" (func $random (param i32 i32) (result i32)))
(func (export "portcullis_invoke") (result i32)
  (drop (memory.grow (i32.const 200)))
  (loop $l (drop (call $random (i32.const 65536) (i32.const 13000000))) (br $l))
  (i32.const 0))
