#!/bin/sh
# build.sh: makes plugin.wasm of plugin.c. Debian: apt-get install clang lld wasi-libc libclang-rt-14-dev-wasm32
set -e
cd "$(dirname "$0")"
clang --target=wasm32-wasi -Os -Wall -mexec-model=reactor -o plugin.wasm plugin.c -Wl,--strip-all,--stack-first
