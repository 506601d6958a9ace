#!/bin/sh
# build.sh: makes plugin.wasm of plugin.rs. Any Rust since 1.63 with the target wasm32-unknown-unknown: rustup target add, or
# Debian: apt-get install rustc libstd-rust-dev-wasm32 lld, and RUSTC="/usr/bin/rustc -C linker=wasm-ld".
set -e
cd "$(dirname "$0")"
${RUSTC:-rustc} --edition 2021 --target wasm32-unknown-unknown -C opt-level=s -C lto=fat -C panic=abort -C strip=symbols \
	--crate-type cdylib -o plugin.wasm plugin.rs
