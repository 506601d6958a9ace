;; http-hang asks a server that never answers.
(import "extism:host/user" "portcullis_http" (func $http (param i64) (result i64)))
(func (export "portcullis_invoke") (result i32) (call $tell (call $http (call $args))))
