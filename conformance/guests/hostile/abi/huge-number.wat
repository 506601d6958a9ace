;; huge-number answers with a number that no double holds.
(data (i32.const 1024) "{\"result\":{\"said\":1e9999}}")
(func (export "portcullis_invoke") (result i32) (call $reply (i32.const 1024) (i32.const 26)))
