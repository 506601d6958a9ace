;; wrong-schema answers with a result that its own schema does not allow.
(data (i32.const 1024) "{\"result\":{\"count\":\"many\"}}")
(func (export "portcullis_invoke") (result i32) (call $reply (i32.const 1024) (i32.const 27)))
