;; echo-error fails with its arguments as the error text.
(func (export "portcullis_invoke") (result i32)
  (call $error_set (call $input_offset))
  (i32.const 1))
