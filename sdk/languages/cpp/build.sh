#!/bin/sh
# build.sh: makes plugin.wasm of plugin.cc. Debian: apt-get install clang lld wasi-libc libclang-rt-14-dev-wasm32
# libc++-14-dev-wasm32 libc++abi-14-dev-wasm32. portcullis.h is that of the C plugins.
set -e
cd "$(dirname "$0")"
clang++ --target=wasm32-wasi -std=c++17 -Os -Wall -fno-exceptions -fno-rtti -mexec-model=reactor -o plugin.wasm plugin.cc \
	-Wl,--strip-all,--stack-first
