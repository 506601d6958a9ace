;; echo answers with its arguments.
(func (export "portcullis_invoke") (result i32) (call $tell (call $args)))
