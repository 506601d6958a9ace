;; start_loop never ends its start function.
(module
  (func $start (loop $l (br $l)))
  (start $start)
  (func (export "run") (result i32) (i32.const 0)))
