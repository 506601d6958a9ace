;; initialize-loop never comes back from being initialised.
(func (export "_initialize") (loop $l (br $l)))
(func (export "portcullis_invoke") (result i32) (call $ok))
