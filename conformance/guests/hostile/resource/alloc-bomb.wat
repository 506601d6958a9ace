;; alloc-bomb takes blocks of 64 KiB until there is none, and then breaks off.
(func (export "portcullis_invoke") (result i32)
  (loop $l (br_if $l (i64.ne (call $alloc (i64.const 65536)) (i64.const 0))))
  (unreachable))
