;; Work as compilers other than Go's lay it out, for measuring what metering costs.
(module
  (func (export "spin") (param $n i32) (result i32) (local $x i32) (local $i i32)
    (local.set $x (i32.const 1))
    (local.set $i (i32.mul (local.get $n) (i32.const 10000)))
    (loop $again
      (local.set $x (i32.add (i32.mul (local.get $x) (i32.const 1664525)) (i32.const 1013904223)))
      (br_if $again (local.tee $i (i32.sub (local.get $i) (i32.const 1)))))
    (local.get $x))
  (func $fib (param $n i32) (result i32)
    (if (result i32) (i32.lt_s (local.get $n) (i32.const 2))
      (then (local.get $n))
      (else (i32.add
        (call $fib (i32.sub (local.get $n) (i32.const 1)))
        (call $fib (i32.sub (local.get $n) (i32.const 2)))))))
  (func (export "fib") (param $n i32) (result i32) (local $sum i32)
    (loop $again
      (local.set $sum (i32.add (local.get $sum) (call $fib (i32.const 18))))
      (br_if $again (local.tee $n (i32.sub (local.get $n) (i32.const 1)))))
    (local.get $sum)))
