#!/bin/sh
# Remakes the fixtures from their text. wat2wasm is in Debian's wabt.
set -e
cd "$(dirname "$0")"
for f in *.wat; do
	wat2wasm "$f" -o "${f%.wat}.wasm"
done
