;; nan answers with a number that JSON does not have.
(data (i32.const 1024) "{\"result\":{\"said\":NaN}}")
(func (export "portcullis_invoke") (result i32) (call $reply (i32.const 1024) (i32.const 23)))
