;; frames-by-locals recurses where its locals may have come from two places, again and again: each such merge is a version of
;; every local, in a slot of its own.
(func $deep (param $n i32) (result i64)
  (local i64 i64 i64 i64 i64 i64 i64 i64 i64 i64 i64 i64 i64 i64 i64 i64)
  (block
  (block
  (block
  (block
  (block
  (block
  (block
  (block
  (block
  (block
  (block
  (block
  (block
  (block
  (block
  (block
  (block
  (block
  (block
  (block
  (block
  (block
  (block
  (block
  (local.set 1 (i64.load (i32.const 1032)))
  (local.set 2 (i64.load (i32.const 1040)))
  (local.set 3 (i64.load (i32.const 1048)))
  (local.set 4 (i64.load (i32.const 1056)))
  (local.set 5 (i64.load (i32.const 1064)))
  (local.set 6 (i64.load (i32.const 1072)))
  (local.set 7 (i64.load (i32.const 1080)))
  (local.set 8 (i64.load (i32.const 1088)))
  (local.set 9 (i64.load (i32.const 1096)))
  (local.set 10 (i64.load (i32.const 1104)))
  (local.set 11 (i64.load (i32.const 1112)))
  (local.set 12 (i64.load (i32.const 1120)))
  (local.set 13 (i64.load (i32.const 1128)))
  (local.set 14 (i64.load (i32.const 1136)))
  (local.set 15 (i64.load (i32.const 1144)))
  (local.set 16 (i64.load (i32.const 1152)))
  (if (local.get $n) (then (br_table 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 (local.get $n))))
  (local.set 1 (i64.load (i32.const 2056)))
  (local.set 2 (i64.load (i32.const 2064)))
  (local.set 3 (i64.load (i32.const 2072)))
  (local.set 4 (i64.load (i32.const 2080)))
  (local.set 5 (i64.load (i32.const 2088)))
  (local.set 6 (i64.load (i32.const 2096)))
  (local.set 7 (i64.load (i32.const 2104)))
  (local.set 8 (i64.load (i32.const 2112)))
  (local.set 9 (i64.load (i32.const 2120)))
  (local.set 10 (i64.load (i32.const 2128)))
  (local.set 11 (i64.load (i32.const 2136)))
  (local.set 12 (i64.load (i32.const 2144)))
  (local.set 13 (i64.load (i32.const 2152)))
  (local.set 14 (i64.load (i32.const 2160)))
  (local.set 15 (i64.load (i32.const 2168)))
  (local.set 16 (i64.load (i32.const 2176)))
  (br_table 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 (local.get $n)))
  (drop (call $deep (i32.add (local.get $n) (i32.const 1))))
  ) (drop (call $deep (i32.const 0)))
  ) (drop (call $deep (i32.const 0)))
  ) (drop (call $deep (i32.const 0)))
  ) (drop (call $deep (i32.const 0)))
  ) (drop (call $deep (i32.const 0)))
  ) (drop (call $deep (i32.const 0)))
  ) (drop (call $deep (i32.const 0)))
  ) (drop (call $deep (i32.const 0)))
  ) (drop (call $deep (i32.const 0)))
  ) (drop (call $deep (i32.const 0)))
  ) (drop (call $deep (i32.const 0)))
  ) (drop (call $deep (i32.const 0)))
  ) (drop (call $deep (i32.const 0)))
  ) (drop (call $deep (i32.const 0)))
  ) (drop (call $deep (i32.const 0)))
  ) (drop (call $deep (i32.const 0)))
  ) (drop (call $deep (i32.const 0)))
  ) (drop (call $deep (i32.const 0)))
  ) (drop (call $deep (i32.const 0)))
  ) (drop (call $deep (i32.const 0)))
  ) (drop (call $deep (i32.const 0)))
  ) (drop (call $deep (i32.const 0)))
  ) (drop (call $deep (i32.const 0)))
  (local.get 1)
  (i64.add (local.get 2))
  (i64.add (local.get 3))
  (i64.add (local.get 4))
  (i64.add (local.get 5))
  (i64.add (local.get 6))
  (i64.add (local.get 7))
  (i64.add (local.get 8))
  (i64.add (local.get 9))
  (i64.add (local.get 10))
  (i64.add (local.get 11))
  (i64.add (local.get 12))
  (i64.add (local.get 13))
  (i64.add (local.get 14))
  (i64.add (local.get 15))
  (i64.add (local.get 16)))
(func (export "portcullis_invoke") (result i32) (i32.wrap_i64 (call $deep (i32.const 0))))
