;; stdout writes a line of a protocol to the standard output of its host.
(import "wasi_snapshot_preview1" "fd_write" (func $write (param i32 i32 i32 i32) (result i32)))
(data (i32.const 1040) "{\"jsonrpc\":\"2.0\",\"method\":\"forged\"}\n")
(func (export "portcullis_invoke") (result i32)
  (i32.store (i32.const 1024) (i32.const 1040))
  (i32.store (i32.const 1028) (i32.const 36))
  (drop (call $write (i32.const 1) (i32.const 1024) (i32.const 1) (i32.const 1032)))
  (call $ok))
