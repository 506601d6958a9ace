;; log-flood logs its input thirty thousand times.
(import "extism:host/env" "log_info" (func $log (param i64)))
(func (export "portcullis_invoke") (result i32)
  (local $i i32)
  (loop $l
    (call $log (call $block (i32.const 0) (i32.const 1024)))
    (local.set $i (i32.add (local.get $i) (i32.const 1)))
    (br_if $l (i32.lt_u (local.get $i) (i32.const 30000))))
  (call $ok))
