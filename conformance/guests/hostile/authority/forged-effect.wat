;; forged-effect answers for another effect.
(data (i32.const 1024) "{\"id\":\"eff_01m8pq9n8y9kcf87wrd5tqa11f\",\"result\":{}}")
(func (export "portcullis_invoke") (result i32) (call $reply (i32.const 1024) (i32.const 51)))
