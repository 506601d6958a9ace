;; exit-as-cancelled leaves with the exit code by which the engine says that a call was cancelled.
(import "wasi_snapshot_preview1" "proc_exit" (func $exit (param i32)))
(func (export "portcullis_invoke") (result i32) (call $exit (i32.const 0xffffffff)) (i32.const 0))
