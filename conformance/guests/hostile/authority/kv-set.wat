;; kv-set keeps a value under the key of its arguments.
(import "extism:host/user" "portcullis_kv_set" (func $set (param i64) (result i64)))
(func (export "portcullis_invoke") (result i32) (call $tell (call $set (call $args))))
