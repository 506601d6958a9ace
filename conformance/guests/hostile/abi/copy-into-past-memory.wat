;; copy-into-past-memory has the host write behind its memory, by an address that wraps.
(func (export "portcullis_invoke") (result i32)
  (call $load (call $alloc (i64.const 16)) (i32.const -8) (i32.const 16))
  (call $ok))
