;; plain is a good plugin: the one beside all others, and the one that is called after them.
(func (export "portcullis_invoke") (result i32) (call $ok))
