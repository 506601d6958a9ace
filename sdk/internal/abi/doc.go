// Package abi is the guest's side of the border: the imports of the Extism
// kernel and of Portcullis, and how bytes cross it.
//
// It moves bytes and knows no message. A block is host memory named by an
// offset; portcullis_load and portcullis_store copy a whole block in one
// crossing, so nothing here loops over bytes. Each host function is a Go function
// of its own: Go's linker drops one that nothing calls together with its import,
// and a plugin therefore imports exactly what it uses.
//
// Outside wasip1 the same names exist and panic: a plugin's package builds,
// vets and tests like any other, and only a call across the border fails.
package abi
