#!/bin/sh
# Remakes the hostile guests from their text. A file with a line "(module" stands alone; any other gets the imports and
# the helpers of common/. wat2wasm is in Debian's wabt.
set -e
cd "$(dirname "$0")"
whole=$(mktemp)
trap 'rm -f "$whole"' EXIT
for f in abi/*.wat authority/*.wat resource/*.wat wasi/*.wat; do
	if grep -q '^(module' "$f"; then
		cat "$f" >"$whole"
	else
		{
			cat common/imports.wat
			grep '^(import' "$f" || true
			cat common/helpers.wat
			grep -v '^(import' "$f"
		} >"$whole"
	fi
	wat2wasm "$whole" -o "${f%.wat}.wasm" || { echo "$f"; exit 1; }
done
