;; invalid-utf8 answers with bytes that are not UTF-8.
(data (i32.const 1024) "{\"result\":{\"said\":\"\ff\fe\"}}")
(func (export "portcullis_invoke") (result i32) (call $reply (i32.const 1024) (i32.const 24)))
