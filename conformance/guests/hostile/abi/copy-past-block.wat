;; copy-past-block has the host copy more than a block has.
(func (export "portcullis_invoke") (result i32)
  (call $load (call $alloc (i64.const 16)) (i32.const 1024) (i32.const 17))
  (call $ok))
