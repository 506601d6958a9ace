;; frames-by-operands recurses while a hundred numbers wait on its operand stack, none of them in a local.
(func $deep (result i64)
  (i64.load (i32.const 1032))
  (i64.load (i32.const 1040))
  (i64.load (i32.const 1048))
  (i64.load (i32.const 1056))
  (i64.load (i32.const 1064))
  (i64.load (i32.const 1072))
  (i64.load (i32.const 1080))
  (i64.load (i32.const 1088))
  (i64.load (i32.const 1096))
  (i64.load (i32.const 1104))
  (i64.load (i32.const 1112))
  (i64.load (i32.const 1120))
  (i64.load (i32.const 1128))
  (i64.load (i32.const 1136))
  (i64.load (i32.const 1144))
  (i64.load (i32.const 1152))
  (i64.load (i32.const 1160))
  (i64.load (i32.const 1168))
  (i64.load (i32.const 1176))
  (i64.load (i32.const 1184))
  (i64.load (i32.const 1192))
  (i64.load (i32.const 1200))
  (i64.load (i32.const 1208))
  (i64.load (i32.const 1216))
  (i64.load (i32.const 1224))
  (i64.load (i32.const 1232))
  (i64.load (i32.const 1240))
  (i64.load (i32.const 1248))
  (i64.load (i32.const 1256))
  (i64.load (i32.const 1264))
  (i64.load (i32.const 1272))
  (i64.load (i32.const 1280))
  (i64.load (i32.const 1288))
  (i64.load (i32.const 1296))
  (i64.load (i32.const 1304))
  (i64.load (i32.const 1312))
  (i64.load (i32.const 1320))
  (i64.load (i32.const 1328))
  (i64.load (i32.const 1336))
  (i64.load (i32.const 1344))
  (i64.load (i32.const 1352))
  (i64.load (i32.const 1360))
  (i64.load (i32.const 1368))
  (i64.load (i32.const 1376))
  (i64.load (i32.const 1384))
  (i64.load (i32.const 1392))
  (i64.load (i32.const 1400))
  (i64.load (i32.const 1408))
  (i64.load (i32.const 1416))
  (i64.load (i32.const 1424))
  (i64.load (i32.const 1432))
  (i64.load (i32.const 1440))
  (i64.load (i32.const 1448))
  (i64.load (i32.const 1456))
  (i64.load (i32.const 1464))
  (i64.load (i32.const 1472))
  (i64.load (i32.const 1480))
  (i64.load (i32.const 1488))
  (i64.load (i32.const 1496))
  (i64.load (i32.const 1504))
  (i64.load (i32.const 1512))
  (i64.load (i32.const 1520))
  (i64.load (i32.const 1528))
  (i64.load (i32.const 1536))
  (i64.load (i32.const 1544))
  (i64.load (i32.const 1552))
  (i64.load (i32.const 1560))
  (i64.load (i32.const 1568))
  (i64.load (i32.const 1576))
  (i64.load (i32.const 1584))
  (i64.load (i32.const 1592))
  (i64.load (i32.const 1600))
  (i64.load (i32.const 1608))
  (i64.load (i32.const 1616))
  (i64.load (i32.const 1624))
  (i64.load (i32.const 1632))
  (i64.load (i32.const 1640))
  (i64.load (i32.const 1648))
  (i64.load (i32.const 1656))
  (i64.load (i32.const 1664))
  (i64.load (i32.const 1672))
  (i64.load (i32.const 1680))
  (i64.load (i32.const 1688))
  (i64.load (i32.const 1696))
  (i64.load (i32.const 1704))
  (i64.load (i32.const 1712))
  (i64.load (i32.const 1720))
  (i64.load (i32.const 1728))
  (i64.load (i32.const 1736))
  (i64.load (i32.const 1744))
  (i64.load (i32.const 1752))
  (i64.load (i32.const 1760))
  (i64.load (i32.const 1768))
  (i64.load (i32.const 1776))
  (i64.load (i32.const 1784))
  (i64.load (i32.const 1792))
  (i64.load (i32.const 1800))
  (i64.load (i32.const 1808))
  (i64.load (i32.const 1816))
  (i64.load (i32.const 1824))
  (call $deep)
  i64.add
  i64.add
  i64.add
  i64.add
  i64.add
  i64.add
  i64.add
  i64.add
  i64.add
  i64.add
  i64.add
  i64.add
  i64.add
  i64.add
  i64.add
  i64.add
  i64.add
  i64.add
  i64.add
  i64.add
  i64.add
  i64.add
  i64.add
  i64.add
  i64.add
  i64.add
  i64.add
  i64.add
  i64.add
  i64.add
  i64.add
  i64.add
  i64.add
  i64.add
  i64.add
  i64.add
  i64.add
  i64.add
  i64.add
  i64.add
  i64.add
  i64.add
  i64.add
  i64.add
  i64.add
  i64.add
  i64.add
  i64.add
  i64.add
  i64.add
  i64.add
  i64.add
  i64.add
  i64.add
  i64.add
  i64.add
  i64.add
  i64.add
  i64.add
  i64.add
  i64.add
  i64.add
  i64.add
  i64.add
  i64.add
  i64.add
  i64.add
  i64.add
  i64.add
  i64.add
  i64.add
  i64.add
  i64.add
  i64.add
  i64.add
  i64.add
  i64.add
  i64.add
  i64.add
  i64.add
  i64.add
  i64.add
  i64.add
  i64.add
  i64.add
  i64.add
  i64.add
  i64.add
  i64.add
  i64.add
  i64.add
  i64.add
  i64.add
  i64.add
  i64.add
  i64.add
  i64.add
  i64.add
  i64.add
  i64.add)
(func (export "portcullis_invoke") (result i32) (i32.wrap_i64 (call $deep)))
