;; exit-as-deadline leaves with the exit code by which the engine says that a deadline passed.
(import "wasi_snapshot_preview1" "proc_exit" (func $exit (param i32)))
(func (export "portcullis_invoke") (result i32) (call $exit (i32.const 0xefffffff)) (i32.const 0))
