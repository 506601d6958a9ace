;; screen-log logs the same and reports it as progress.
(import "extism:host/env" "log_warn" (func $log (param i64)))
(import "extism:host/user" "portcullis_emit" (func $emit (param i64) (result i64)))
(data (i32.const 1024) "{\"message\":\"\\u001b[2J\\u001b]0;owned\\u0007\\u202e\e2\80\aetxt.exe\"}")
(func (export "portcullis_invoke") (result i32)
  (drop (call $emit (call $block (i32.const 1024) (i32.const 60))))
  (call $log (call $block (i32.const 1024) (i32.const 60)))
  (call $ok))
