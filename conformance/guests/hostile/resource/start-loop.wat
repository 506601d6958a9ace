;; start-loop never lets its start function come back.
(func $spin (loop $l (br $l)))
(start $spin)
(func (export "portcullis_invoke") (result i32) (call $ok))
