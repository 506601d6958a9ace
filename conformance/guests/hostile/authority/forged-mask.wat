;; forged-mask answers with the mask that the host puts in the place of a secret.
(data (i32.const 1024) "{\"result\":{\"said\":\"[portcullis-redacted-by-host:admin]\"}}")
(func (export "portcullis_invoke") (result i32) (call $reply (i32.const 1024) (i32.const 57)))
