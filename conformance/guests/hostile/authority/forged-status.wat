;; forged-status answers with a status of its own.
(data (i32.const 1024) "{\"status\":\"succeeded\",\"result\":{}}")
(func (export "portcullis_invoke") (result i32) (call $reply (i32.const 1024) (i32.const 34)))
