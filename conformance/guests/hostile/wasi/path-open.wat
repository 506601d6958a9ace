;; path-open opens /etc/passwd below each of the first 16 descriptors, and answers the least error of all.
(import "wasi_snapshot_preview1" "path_open" (func $open (param i32 i32 i32 i32 i32 i64 i64 i32 i32) (result i32)))
(data (i32.const 1024) "../../../../../../etc/passwd")
(func (export "portcullis_invoke") (result i32)
  (local $fd i32) (local $e i32) (local $least i32)
  (local.set $least (i32.const 99))
  (loop $l
    (local.set $e (call $open (local.get $fd) (i32.const 1) (i32.const 1024) (i32.const 28) (i32.const 0) (i64.const -1) (i64.const -1) (i32.const 0) (i32.const 2048)))
    (if (i32.lt_u (local.get $e) (local.get $least)) (then (local.set $least (local.get $e))))
    (local.set $fd (i32.add (local.get $fd) (i32.const 1)))
    (br_if $l (i32.lt_u (local.get $fd) (i32.const 16))))
  (call $number (local.get $least)))
