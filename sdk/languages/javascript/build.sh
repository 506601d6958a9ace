#!/bin/sh
# build.sh: makes plugin.wasm of plugin.js. Needs what C plugins need, portcullis.h beside it, and in $QUICKJS the sources of
# QuickJS 2021-03-27. The npm package qjsc 0.3.0 has them: npm pack qjsc@0.3.0, package/deps/quickjs_2021_03_27 in the archive.
set -e
cd "$(dirname "$0")"
: "${QUICKJS:?}"
bytes() { od -An -v -tu1 "$1" | sed 's/ *\([0-9][0-9]*\)/\1,/g'; echo 0; }
bytes portcullis.js >prelude.h
bytes plugin.js >script.h
# As for Emscripten: no threads and no guess at the size of memory blocks. The directions of rounding are not in wasm.
clang --target=wasm32-wasi -Os -w -mexec-model=reactor -DEMSCRIPTEN -DCONFIG_STACK_CHECK -DCONFIG_VERSION='"2021-03-27"' \
	-DFE_DOWNWARD=0 -DFE_UPWARD=0 -D_GNU_SOURCE -ffile-prefix-map="$QUICKJS"=quickjs -I. -I"$QUICKJS" -o plugin.wasm engine.c \
	"$QUICKJS/quickjs.c" "$QUICKJS/libregexp.c" "$QUICKJS/libunicode.c" "$QUICKJS/cutils.c" -Wl,--strip-all,--gc-sections,--stack-first,-z,stack-size=524288
