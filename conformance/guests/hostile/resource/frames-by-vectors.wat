;; frames-by-vectors recurses while 64 vectors wait on its operand stack.
(func $deep (result v128)
  (v128.load (i32.const 1040))
  (v128.load (i32.const 1056))
  (v128.load (i32.const 1072))
  (v128.load (i32.const 1088))
  (v128.load (i32.const 1104))
  (v128.load (i32.const 1120))
  (v128.load (i32.const 1136))
  (v128.load (i32.const 1152))
  (v128.load (i32.const 1168))
  (v128.load (i32.const 1184))
  (v128.load (i32.const 1200))
  (v128.load (i32.const 1216))
  (v128.load (i32.const 1232))
  (v128.load (i32.const 1248))
  (v128.load (i32.const 1264))
  (v128.load (i32.const 1280))
  (v128.load (i32.const 1296))
  (v128.load (i32.const 1312))
  (v128.load (i32.const 1328))
  (v128.load (i32.const 1344))
  (v128.load (i32.const 1360))
  (v128.load (i32.const 1376))
  (v128.load (i32.const 1392))
  (v128.load (i32.const 1408))
  (v128.load (i32.const 1424))
  (v128.load (i32.const 1440))
  (v128.load (i32.const 1456))
  (v128.load (i32.const 1472))
  (v128.load (i32.const 1488))
  (v128.load (i32.const 1504))
  (v128.load (i32.const 1520))
  (v128.load (i32.const 1536))
  (v128.load (i32.const 1552))
  (v128.load (i32.const 1568))
  (v128.load (i32.const 1584))
  (v128.load (i32.const 1600))
  (v128.load (i32.const 1616))
  (v128.load (i32.const 1632))
  (v128.load (i32.const 1648))
  (v128.load (i32.const 1664))
  (v128.load (i32.const 1680))
  (v128.load (i32.const 1696))
  (v128.load (i32.const 1712))
  (v128.load (i32.const 1728))
  (v128.load (i32.const 1744))
  (v128.load (i32.const 1760))
  (v128.load (i32.const 1776))
  (v128.load (i32.const 1792))
  (v128.load (i32.const 1808))
  (v128.load (i32.const 1824))
  (v128.load (i32.const 1840))
  (v128.load (i32.const 1856))
  (v128.load (i32.const 1872))
  (v128.load (i32.const 1888))
  (v128.load (i32.const 1904))
  (v128.load (i32.const 1920))
  (v128.load (i32.const 1936))
  (v128.load (i32.const 1952))
  (v128.load (i32.const 1968))
  (v128.load (i32.const 1984))
  (v128.load (i32.const 2000))
  (v128.load (i32.const 2016))
  (v128.load (i32.const 2032))
  (v128.load (i32.const 2048))
  (call $deep)
  i64x2.add
  i64x2.add
  i64x2.add
  i64x2.add
  i64x2.add
  i64x2.add
  i64x2.add
  i64x2.add
  i64x2.add
  i64x2.add
  i64x2.add
  i64x2.add
  i64x2.add
  i64x2.add
  i64x2.add
  i64x2.add
  i64x2.add
  i64x2.add
  i64x2.add
  i64x2.add
  i64x2.add
  i64x2.add
  i64x2.add
  i64x2.add
  i64x2.add
  i64x2.add
  i64x2.add
  i64x2.add
  i64x2.add
  i64x2.add
  i64x2.add
  i64x2.add
  i64x2.add
  i64x2.add
  i64x2.add
  i64x2.add
  i64x2.add
  i64x2.add
  i64x2.add
  i64x2.add
  i64x2.add
  i64x2.add
  i64x2.add
  i64x2.add
  i64x2.add
  i64x2.add
  i64x2.add
  i64x2.add
  i64x2.add
  i64x2.add
  i64x2.add
  i64x2.add
  i64x2.add
  i64x2.add
  i64x2.add
  i64x2.add
  i64x2.add
  i64x2.add
  i64x2.add
  i64x2.add
  i64x2.add
  i64x2.add
  i64x2.add
  i64x2.add)
(func (export "portcullis_invoke") (result i32) (i32x4.extract_lane 0 (call $deep)))
