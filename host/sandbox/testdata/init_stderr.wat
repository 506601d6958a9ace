;; init_stderr writes 12 KiB and then why it breaks off, before its entry point is called.
(module
  (import "wasi_snapshot_preview1" "fd_write" (func $fd_write (param i32 i32 i32 i32) (result i32)))
  (import "extism:host/env" "output_set" (func $output_set (param i64 i64)))
  (memory (export "memory") 1)
  (data (i32.const 0) "\20\00\00\00\0c\00\00\00\40\00\00\00\1e\00\00\00")
  (data (i32.const 32) "noise, noise ")
  (data (i32.const 64) "it broke: \1b[31mred\e2\80\ae\nat start\n")
  (func (export "_initialize") (local $n i32)
    (loop $again
      (drop (call $fd_write (i32.const 2) (i32.const 0) (i32.const 1) (i32.const 24)))
      (br_if $again (i32.lt_u (local.tee $n (i32.add (local.get $n) (i32.const 1))) (i32.const 1024))))
    (drop (call $fd_write (i32.const 2) (i32.const 8) (i32.const 1) (i32.const 24)))
    unreachable)
  (func (export "portcullis_describe") (result i32) (call $output_set (i64.const 0) (i64.const 0)) (i32.const 0))
  (func (export "run") (result i32) (call $output_set (i64.const 0) (i64.const 0)) (i32.const 0)))
