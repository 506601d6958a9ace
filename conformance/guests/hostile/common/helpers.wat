;; Memory of a guest: 0 to 1023 is the helpers', 1024 to 4095 the guest's own, from 4096 on it is scratch.
(memory (export "memory") 4)
(data (i32.const 0) "{\"result\":{\"ok\":true}}")
(data (i32.const 64) "{\"result\":{\"said\":")

;; $block is a block with n bytes of memory.
(func $block (param $at i32) (param $n i32) (result i64)
  (local $b i64)
  (local.set $b (call $alloc (i64.extend_i32_u (local.get $n))))
  (call $store (local.get $b) (local.get $at) (local.get $n))
  (local.get $b))

;; $reply answers with n bytes of memory and is the return code 0.
(func $reply (param $at i32) (param $n i32) (result i32)
  (call $output_set (call $block (local.get $at) (local.get $n)) (i64.extend_i32_u (local.get $n)))
  (i32.const 0))

;; $ok answers {"result":{"ok":true}}.
(func $ok (result i32) (call $reply (i32.const 0) (i32.const 22)))

;; $frame is a frame: n bytes of memory as header, and a body of zeros.
(func $frame (param $at i32) (param $n i32) (param $body i32) (result i64)
  (local $b i64)
  (local.set $b (call $alloc (i64.extend_i32_u (i32.add (i32.const 4) (i32.add (local.get $n) (local.get $body))))))
  (i32.store (i32.const 128) (local.get $n))
  (call $store (local.get $b) (i32.const 128) (i32.const 4))
  (call $store (i64.add (local.get $b) (i64.const 4)) (local.get $at) (local.get $n))
  (local.get $b))

;; $args is a frame whose header is the arguments of the call.
(func $args (result i64)
  (local $n i32) (local $i i32)
  (local.set $n (i32.wrap_i64 (call $input_length)))
  (call $load (call $input_offset) (i32.const 4096) (local.get $n))
  (local.set $i (i32.const 4096))
  (loop $next
    (if (i64.ne (i64.load (local.get $i)) (i64.const 0x7b3a227367726122)) ;; "args":{
      (then
        (local.set $i (i32.add (local.get $i) (i32.const 1)))
        (br $next))))
  (local.set $i (i32.add (local.get $i) (i32.const 7)))
  (call $frame (local.get $i) (i32.sub (i32.add (i32.const 4095) (local.get $n)) (local.get $i)) (i32.const 0)))

;; $tell answers {"result":{"said":HEADER}} with the header of a reply of the host.
(func $tell (param $b i64) (result i32)
  (local $n i32)
  (if (i64.eqz (local.get $b)) (then (return (call $ok))))
  (call $load (local.get $b) (i32.const 128) (i32.const 4))
  (local.set $n (i32.load (i32.const 128)))
  (memory.copy (i32.const 4096) (i32.const 64) (i32.const 18))
  (call $load (i64.add (local.get $b) (i64.const 4)) (i32.const 4114) (local.get $n))
  (i32.store16 (i32.add (i32.const 4114) (local.get $n)) (i32.const 0x7d7d))
  (call $reply (i32.const 4096) (i32.add (i32.const 20) (local.get $n))))

;; $number answers {"result":{"said":N}} for N from 0 to 99.
(func $number (param $v i32) (result i32)
  (memory.copy (i32.const 4096) (i32.const 64) (i32.const 18))
  (i32.store8 (i32.const 4114) (i32.const 0x20))
  (if (i32.ge_u (local.get $v) (i32.const 10))
    (then (i32.store8 (i32.const 4114) (i32.add (i32.const 48) (i32.div_u (local.get $v) (i32.const 10))))))
  (i32.store8 (i32.const 4115) (i32.add (i32.const 48) (i32.rem_u (local.get $v) (i32.const 10))))
  (i32.store16 (i32.const 4116) (i32.const 0x7d7d))
  (call $reply (i32.const 4096) (i32.const 22)))
