;; sleep-flood sleeps for an hour, again and again.
(import "wasi_snapshot_preview1" "poll_oneoff" (func $poll (param i32 i32 i32 i32) (result i32)))
(func (export "portcullis_invoke") (result i32)
  (loop $l
    (i64.store (i32.const 1048) (i64.const 3600000000000))
    (drop (call $poll (i32.const 1024) (i32.const 2048) (i32.const 1) (i32.const 3072)))
    (br $l))
  (i32.const 0))
