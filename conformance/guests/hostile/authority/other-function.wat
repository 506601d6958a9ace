;; other-function imports a function of another application.
(import "extism:host/user" "charge_card" (func $f (param i64) (result i64)))
(func (export "portcullis_invoke") (result i32) (call $tell (call $f (call $args))))
