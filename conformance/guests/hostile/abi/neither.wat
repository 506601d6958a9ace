;; neither answers with neither a result nor a fault.
(data (i32.const 1024) "{}")
(func (export "portcullis_invoke") (result i32) (call $reply (i32.const 1024) (i32.const 2)))
