;; file-flood reads the same file without end and answers the first refusal.
(import "extism:host/user" "portcullis_fs_read" (func $read (param i64) (result i64)))
(data (i32.const 1024) "{\"path\":\"large.bin\"}")
(func (export "portcullis_invoke") (result i32)
  (local $r i64)
  (loop $l
    (local.set $r (call $read (call $frame (i32.const 1024) (i32.const 20) (i32.const 0))))
    (call $load (i64.add (local.get $r) (i64.const 4)) (i32.const 4096) (i32.const 8))
    (if (i32.eq (i32.load8_u (i32.const 4098)) (i32.const 0x66)) (then (return (call $tell (local.get $r)))))
    (call $free (local.get $r))
    (br $l))
  (i32.const 0))
