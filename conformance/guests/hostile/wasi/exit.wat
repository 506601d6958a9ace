;; exit leaves with code 0 before it has answered.
(import "wasi_snapshot_preview1" "proc_exit" (func $exit (param i32)))
(func (export "portcullis_invoke") (result i32) (call $exit (i32.const 0)) (call $ok))
