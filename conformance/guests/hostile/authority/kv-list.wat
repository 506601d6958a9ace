;; kv-list lists all keys.
(import "extism:host/user" "portcullis_kv_list" (func $f (param i64) (result i64)))
(func (export "portcullis_invoke") (result i32) (call $tell (call $f (call $args))))
