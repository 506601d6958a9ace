;; store-freed writes into a block that it has given back.
(func (export "portcullis_invoke") (result i32)
  (local $b i64)
  (local.set $b (call $alloc (i64.const 8)))
  (call $free (local.get $b))
  (call $store_u8 (local.get $b) (i32.const 1))
  (call $ok))
