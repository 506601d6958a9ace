;; machine runs its input as a program of four-byte instructions (operation, a,
;; b, c) over all the state that it has, and answers with a digest of that state.
(module
  (import "wasi_snapshot_preview1" "fd_close" (func $fd_close (param i32) (result i32)))
  (import "extism:host/env" "alloc" (func $alloc (param i64) (result i64)))
  (import "extism:host/env" "free" (func $free (param i64)))
  (import "extism:host/env" "load_u8" (func $load_u8 (param i64) (result i32)))
  (import "extism:host/env" "store_u8" (func $store_u8 (param i64 i32)))
  (import "extism:host/env" "store_u64" (func $store_u64 (param i64 i64)))
  (import "extism:host/env" "input_length" (func $input_length (result i64)))
  (import "extism:host/env" "input_load_u8" (func $input (param i64) (result i32)))
  (import "extism:host/env" "output_set" (func $output_set (param i64 i64)))
  (memory (export "memory") 1 24)
  (data (i32.const 4000) "some data on two pages")
  (table 2 2 funcref)
  (elem (i32.const 0) $start)
  (global $i (mut i32) (i32.const 3))
  (global $l (mut i64) (i64.const 5))
  (global $f (mut f32) (f32.const 0.5))
  (global $d (mut f64) (f64.const 0.25))
  (global $early (mut i64) (i64.const 0))
  (func $start
    (i32.store (i32.const 8192) (i32.const 77)))
  (start $start)
  (func (export "_initialize")
    (global.set $early (call $alloc (i64.const 8)))
    (call $store_u64 (global.get $early) (i64.const 0x0807060504030201))
    (global.set $l (i64.add (global.get $l) (global.get $early))))

  (func $digest (result i64)
    (local $at i32) (local $h i64)
    (local.set $h (i64.xor (i64.extend_i32_u (global.get $i)) (i64.rotl (global.get $l) (i64.const 17))))
    (local.set $h (i64.add (local.get $h) (i64.reinterpret_f64 (global.get $d))))
    (local.set $h (i64.add (local.get $h) (i64.extend_i32_u (i32.reinterpret_f32 (global.get $f)))))
    (local.set $h (i64.add (local.get $h) (i64.extend_i32_u (memory.size))))
    (loop $l
      (local.set $h (i64.add (i64.mul (local.get $h) (i64.const 0x100000001b3)) (i64.load (local.get $at))))
      (br_if $l (i32.lt_u
        (local.tee $at (i32.add (local.get $at) (i32.const 8)))
        (i32.mul (memory.size) (i32.const 65536)))))
    (local.get $h))

  (func (export "run") (result i32)
    (local $pc i64) (local $op i32) (local $a i32) (local $c i32) (local $b i64)
    (block $done (loop $next
      (br_if $done (i64.gt_u (i64.add (local.get $pc) (i64.const 4)) (call $input_length)))
      (local.set $op (call $input (local.get $pc)))
      ;; an address: 16 bits of pages of 256 bytes, within memory
      (local.set $a (i32.rem_u
        (i32.mul
          (i32.or (i32.shl (call $input (i64.add (local.get $pc) (i64.const 1))) (i32.const 8))
                  (call $input (i64.add (local.get $pc) (i64.const 2))))
          (i32.const 24))
        (i32.sub (i32.mul (memory.size) (i32.const 65536)) (i32.const 20000))))
      (local.set $c (call $input (i64.add (local.get $pc) (i64.const 3))))
      (local.set $pc (i64.add (local.get $pc) (i64.const 4)))
      (block $fill (block $grow (block $block (block $float (block $int (block $trap (block $fail (block $close (block $drop (block $store
        (br_table $store $fill $grow $block $float $int $close $drop $fail $trap $store (i32.and (local.get $op) (i32.const 63))))
        (i32.store8 (local.get $a) (local.get $c)) (br $next))
        ;; drop
        (if (i32.eqz (local.get $c)) (then (call $free (global.get $early)))) (br $next))
        ;; close
        (drop (call $fd_close (i32.and (local.get $c) (i32.const 3)))) (br $next))
        ;; fail
        (if (i32.eqz (local.get $c)) (then (return (i32.const 1)))) (br $next))
        ;; trap
        (if (i32.eqz (local.get $c)) (then (unreachable))) (br $next))
        ;; int
        (global.set $i (i32.add (global.get $i) (local.get $c)))
        (global.set $l (i64.add (i64.mul (global.get $l) (i64.const 3)) (i64.extend_i32_u (local.get $c)))) (br $next))
        ;; float
        (global.set $f (f32.add (global.get $f) (f32.convert_i32_u (local.get $c))))
        (global.set $d (f64.sub (global.get $d) (f64.convert_i32_u (local.get $c)))) (br $next))
        ;; block
        (call $store_u8 (i64.add (global.get $early) (i64.extend_i32_u (i32.and (local.get $a) (i32.const 7)))) (local.get $c)) (br $next))
        ;; grow
        (drop (memory.grow (i32.and (local.get $c) (i32.const 3)))) (br $next))
        ;; fill
        (memory.fill (local.get $a) (local.get $c) (i32.const 20000))
      (br $next)))
    (local.set $b (call $alloc (i64.const 16)))
    (call $store_u64 (local.get $b) (call $digest))
    (call $store_u8 (i64.add (local.get $b) (i64.const 8)) (call $load_u8 (global.get $early)))
    (call $output_set (local.get $b) (i64.const 16))
    (i32.const 0)))
