;; args answers how many arguments it was started with.
(import "wasi_snapshot_preview1" "args_sizes_get" (func $sizes (param i32 i32) (result i32)))
(func (export "portcullis_invoke") (result i32)
  (i32.store (i32.const 1024) (i32.const 77))
  (if (call $sizes (i32.const 1024) (i32.const 1028)) (then (unreachable)))
  (call $number (i32.load (i32.const 1024))))
