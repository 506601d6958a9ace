;; config-secret asks for a setting that nobody gave it and answers how long it is.
(import "extism:host/env" "config_get" (func $config (param i64) (result i64)))
(data (i32.const 1024) "ANTHROPIC_API_KEY")
(func (export "portcullis_invoke") (result i32)
  (call $number (i32.wrap_i64 (call $length (call $config (call $block (i32.const 1024) (i32.const 17)))))))
