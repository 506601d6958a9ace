;; file-rename moves the files of its arguments.
(import "extism:host/user" "portcullis_fs_rename" (func $f (param i64) (result i64)))
(func (export "portcullis_invoke") (result i32) (call $tell (call $f (call $args))))
