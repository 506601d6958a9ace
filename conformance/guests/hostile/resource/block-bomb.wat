;; block-bomb takes blocks of one byte until there is none, and then breaks off.
(func (export "portcullis_invoke") (result i32)
  (loop $l (br_if $l (i64.ne (call $alloc (i64.const 1)) (i64.const 0))))
  (unreachable))
