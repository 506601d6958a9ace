;; missing-export does not have the entry point that its plugin.json promises.
(module (func (export "portcullis_other") (result i32) (i32.const 0)))
