#!/bin/sh
# build.sh OUT [LANGUAGE...]: makes the guests of other languages as their authors would: each in a folder of its own, from
# guest.* here and what sdk/languages gives an author, by the build.sh that is given to the author too. Leaves
# OUT/LANGUAGE.wasm (javascript.wasm.gz), and prints a line of built.txt for each: name, sha256 and size of the
# module, sha256 of all that it was made from. Where asc is not installed $NODE_MODULES has it, QuickJS is in $QUICKJS.
set -e
out=$(mkdir -p "$1" && cd "$1" && pwd)
shift
here=$(cd "$(dirname "$0")" && pwd)
sdk=$here/../../../sdk/languages
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for language in ${*:-assemblyscript c cpp javascript rust}; do
	mkdir "$work/$language"
	cd "$work/$language"
	case $language in cpp | javascript) cp "$sdk/c/portcullis.h" . ;; esac
	cp "$sdk/$language"/* .
	for guest in "$here/$language"/guest.*; do cp "$guest" "plugin.${guest##*.}"; done
	sources=$(LC_ALL=C sha256sum * | sha256sum | cut -d' ' -f1)
	if [ $language = assemblyscript ] && [ -n "$NODE_MODULES" ]; then ln -s "$NODE_MODULES" node_modules; fi
	sh build.sh >&2
	case $language in
	javascript) gzip -9 -n -c plugin.wasm >"$out/javascript.wasm.gz" ;;
	*) install -m 644 plugin.wasm "$out/$language.wasm" ;;
	esac
	echo "$language $(sha256sum plugin.wasm | cut -d' ' -f1) $(stat -c %s plugin.wasm) $sources"
done
