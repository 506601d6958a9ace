;; wrong-export-type takes a number where nothing is given.
(module (func (export "portcullis_invoke") (param i64) (result i32) (i32.const 0)))
