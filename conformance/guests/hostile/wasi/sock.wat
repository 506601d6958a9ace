;; sock accepts, sends and shuts down on the first 16 descriptors, and answers the least error.
(import "wasi_snapshot_preview1" "sock_accept" (func $accept (param i32 i32 i32) (result i32)))
(import "wasi_snapshot_preview1" "sock_send" (func $send (param i32 i32 i32 i32 i32) (result i32)))
(import "wasi_snapshot_preview1" "sock_shutdown" (func $shutdown (param i32 i32) (result i32)))
(func $least (param i32 i32) (result i32)
  (select (local.get 0) (local.get 1) (i32.lt_u (local.get 0) (local.get 1))))
(func (export "portcullis_invoke") (result i32)
  (local $fd i32) (local $least i32)
  (local.set $least (i32.const 99))
  (loop $l
    (local.set $least (call $least (local.get $least) (call $least
      (call $accept (local.get $fd) (i32.const 0) (i32.const 1024)) (call $least
      (call $send (local.get $fd) (i32.const 1032) (i32.const 0) (i32.const 0) (i32.const 1024))
      (call $shutdown (local.get $fd) (i32.const 3))))))
    (local.set $fd (i32.add (local.get $fd) (i32.const 1)))
    (br_if $l (i32.lt_u (local.get $fd) (i32.const 16))))
  (call $number (local.get $least)))
