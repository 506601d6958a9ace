;; stderr-flood writes 64 KiB to stderr without end.
(import "wasi_snapshot_preview1" "fd_write" (func $write (param i32 i32 i32 i32) (result i32)))
(func (export "portcullis_invoke") (result i32)
  (i32.store (i32.const 1024) (i32.const 65536))
  (i32.store (i32.const 1028) (i32.const 65536))
  (loop $l (drop (call $write (i32.const 2) (i32.const 1024) (i32.const 1) (i32.const 1032))) (br $l))
  (i32.const 0))
