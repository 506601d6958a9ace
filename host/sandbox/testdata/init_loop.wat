;; init_loop never ends its initializer.
(module
  (func (export "_initialize") (loop $l (br $l)))
  (func (export "run") (result i32) (i32.const 0)))
