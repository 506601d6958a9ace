;; both answers with a result and a fault.
(data (i32.const 1024) "{\"result\":{},\"fault\":{\"code\":\"failed\",\"message\":\"x\"}}")
(func (export "portcullis_invoke") (result i32) (call $reply (i32.const 1024) (i32.const 53)))
