;; raise sends a kill signal to its process and answers the error.
(import "wasi_snapshot_preview1" "proc_raise" (func $raise (param i32) (result i32)))
(func (export "portcullis_invoke") (result i32) (call $number (call $raise (i32.const 9))))
