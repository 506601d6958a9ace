;; request-twice names the key of its request twice.
(import "extism:host/user" "portcullis_kv_get" (func $get (param i64) (result i64)))
(data (i32.const 1024) "{\"key\":\"mine\",\"key\":\"yours\"}")
(func (export "portcullis_invoke") (result i32)
  (call $tell (call $get (call $frame (i32.const 1024) (i32.const 28) (i32.const 0)))))
