;; huge-memory begins with 3 GiB.
(module
  (memory (export "memory") 49152)
  (func (export "portcullis_invoke") (result i32) (i32.const 0)))
