;; error-and-zero says that something is wrong and returns 0 without an output.
(data (i32.const 1024) "something is wrong")
(func (export "portcullis_invoke") (result i32)
  (call $error_set (call $block (i32.const 1024) (i32.const 18)))
  (i32.const 0))
