;; export-not-function has a memory under the name of the entry point.
(module (memory (export "portcullis_invoke") 1))
