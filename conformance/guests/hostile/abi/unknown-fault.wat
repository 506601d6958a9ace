;; unknown-fault answers with a fault code that the contract does not know.
(data (i32.const 1024) "{\"fault\":{\"code\":\"approved\",\"message\":\"x\"}}")
(func (export "portcullis_invoke") (result i32) (call $reply (i32.const 1024) (i32.const 43)))
