;; path-write makes a directory, renames and removes below descriptor 3, and answers the least error.
(import "wasi_snapshot_preview1" "path_create_directory" (func $mkdir (param i32 i32 i32) (result i32)))
(import "wasi_snapshot_preview1" "path_unlink_file" (func $unlink (param i32 i32 i32) (result i32)))
(import "wasi_snapshot_preview1" "path_rename" (func $rename (param i32 i32 i32 i32 i32 i32) (result i32)))
(data (i32.const 1024) "out")
(func $least (param i32 i32) (result i32)
  (select (local.get 0) (local.get 1) (i32.lt_u (local.get 0) (local.get 1))))
(func (export "portcullis_invoke") (result i32)
  (call $number (call $least (call $mkdir (i32.const 3) (i32.const 1024) (i32.const 3)) (call $least
    (call $unlink (i32.const 3) (i32.const 1024) (i32.const 3))
    (call $rename (i32.const 3) (i32.const 1024) (i32.const 3) (i32.const 3) (i32.const 1024) (i32.const 2))))))
