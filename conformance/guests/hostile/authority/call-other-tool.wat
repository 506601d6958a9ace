;; call-other-tool wants to call a tool of another plugin.
(import "extism:host/user" "portcullis_call" (func $f (param i64) (result i64)))
(func (export "portcullis_invoke") (result i32) (call $tell (call $f (call $args))))
