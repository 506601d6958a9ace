;; deep-json answers with 10,000 lists inside each other.
(func (export "portcullis_invoke") (result i32)
  (i64.store (i32.const 4096) (i64.const 0x746c75736572227b)) ;; {"result
  (i32.store16 (i32.const 4104) (i32.const 0x3a22))
  (memory.fill (i32.const 4106) (i32.const 0x5b) (i32.const 10000))
  (memory.fill (i32.const 14106) (i32.const 0x5d) (i32.const 10000))
  (i32.store8 (i32.const 24106) (i32.const 0x7d))
  (call $reply (i32.const 4096) (i32.const 20011)))
