;; kv-get reads the key of its arguments.
(import "extism:host/user" "portcullis_kv_get" (func $f (param i64) (result i64)))
(func (export "portcullis_invoke") (result i32) (call $tell (call $f (call $args))))
