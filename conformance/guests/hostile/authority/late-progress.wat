;; late-progress reports progress five hundred times in a row and comes back.
(import "extism:host/user" "portcullis_emit" (func $emit (param i64) (result i64)))
(data (i32.const 1024) "{\"message\":\"late\"}")
(func (export "portcullis_invoke") (result i32)
  (local $i i32)
  (loop $l
    (call $free (call $emit (call $block (i32.const 1024) (i32.const 18))))
    (local.set $i (i32.add (local.get $i) (i32.const 1)))
    (br_if $l (i32.lt_u (local.get $i) (i32.const 500))))
  (call $ok))
