;; huge-table asks for a table of a hundred million entries.
(table 100000000 funcref)
(func (export "portcullis_invoke") (result i32) (call $ok))
