;; duplicate-inner-keys answers with a member of the result given twice.
(data (i32.const 1024) "{\"result\":{\"said\":1,\"said\":2}}")
(func (export "portcullis_invoke") (result i32) (call $reply (i32.const 1024) (i32.const 30)))
