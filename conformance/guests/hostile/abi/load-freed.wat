;; load-freed reads from a block that it has given back, after another took its size.
(func (export "portcullis_invoke") (result i32)
  (local $b i64)
  (local.set $b (call $alloc (i64.const 8)))
  (call $free (local.get $b))
  (drop (call $alloc (i64.const 8)))
  (drop (call $load_u64 (local.get $b)))
  (call $ok))
