;; initialize-call keeps a value while it is initialised, before anybody's authority is bound.
(import "extism:host/user" "portcullis_kv_set" (func $set (param i64) (result i64)))
(data (i32.const 1024) "{\"key\":\"early\"}")
(func (export "_initialize") (drop (call $set (call $frame (i32.const 1024) (i32.const 15) (i32.const 4)))))
(func (export "portcullis_invoke") (result i32) (call $ok))
