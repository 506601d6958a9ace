#!/bin/sh
# build.sh: makes plugin.wasm of plugin.ts. Needs the npm package assemblyscript, which has asc: npm install assemblyscript@0.28.20
set -e
cd "$(dirname "$0")"
PATH=$PWD/node_modules/.bin:$PATH
asc plugin.ts -o plugin.wasm -O --use abort=portcullis/aborted
