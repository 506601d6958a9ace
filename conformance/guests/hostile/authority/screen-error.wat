;; screen-error fails with text that clears a screen, titles a window and turns the reading direction round.
(data (i32.const 1024) "\1b[2J\1b]0;owned\07allowed\0d\e2\80\aetxt.exe\e2\80\ac\c2\9b31m\00\ff")
(func (export "portcullis_invoke") (result i32)
  (call $error_set (call $block (i32.const 1024) (i32.const 44)))
  (i32.const 1))
