;; poll-many subscribes to more than its memory holds.
(import "wasi_snapshot_preview1" "poll_oneoff" (func $poll (param i32 i32 i32 i32) (result i32)))
(func (export "portcullis_invoke") (result i32)
  (call $number (call $poll (i32.const 1024) (i32.const 2048) (i32.const -1) (i32.const 3072))))
