;; stale-state counts its calls in a global and in memory, grows its memory, and answers the largest count.
(global $calls (mut i32) (i32.const 0))
(func (export "portcullis_invoke") (result i32)
  (global.set $calls (i32.add (global.get $calls) (i32.const 1)))
  (i32.store (i32.const 1024) (i32.add (i32.load (i32.const 1024)) (i32.const 1)))
  (i32.store (i32.const 200000) (i32.add (i32.load (i32.const 200000)) (i32.const 1)))
  (if (i32.ne (memory.size) (i32.const 4)) (then (return (call $number (i32.const 60)))))
  (drop (memory.grow (i32.const 1)))
  (call $number (i32.or (global.get $calls) (i32.or (i32.load (i32.const 1024)) (i32.load (i32.const 200000))))))
