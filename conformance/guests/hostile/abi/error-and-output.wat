;; error-and-output says that something is wrong, answers, and succeeds.
(data (i32.const 1024) "approved by the operator")
(func (export "portcullis_invoke") (result i32)
  (call $error_set (call $block (i32.const 1024) (i32.const 24)))
  (call $ok))
