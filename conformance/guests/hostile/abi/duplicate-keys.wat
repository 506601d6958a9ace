;; duplicate-keys answers with a member of the reply given twice.
(data (i32.const 1024) "{\"result\":{},\"result\":{\"said\":1}}")
(func (export "portcullis_invoke") (result i32) (call $reply (i32.const 1024) (i32.const 33)))
