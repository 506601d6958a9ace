#!/bin/sh
# rebuild.sh [keep]: installs the toolchains of Debian 12 and npm (as root, over the network), walks from nothing to a call
# with `plugin new` in each language, makes every guest anew, and says of each whether its bytes are those in
# conformance/testdata/languages; with "keep" it puts the new ones there.
set -e
here=$(cd "$(dirname "$0")" && pwd)
kept=$here/../../testdata/languages
if command -v wasm-opt >/dev/null; then
	echo "there is a wasm-opt, which clang runs by itself and so makes other bytes: take it from the PATH" >&2
	exit 2
fi
apt-get install -y -q --no-install-recommends clang lld wasi-libc libclang-rt-14-dev-wasm32 libc++-14-dev-wasm32 \
	libc++abi-14-dev-wasm32 rustc libstd-rust-dev-wasm32 >/dev/null
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
npm install --silent --ignore-scripts assemblyscript@0.28.20
npm pack --silent qjsc@0.3.0 >/dev/null
tar xzf qjsc-0.3.0.tgz
export NODE_MODULES="$work/node_modules" QUICKJS="$work/package/deps/quickjs_2021_03_27" RUSTC="/usr/bin/rustc -C linker=wasm-ld"
export PORTCULLIS_HOME="$work/home"
portcullis="$work/portcullis"
(cd "$here" && go build -o "$portcullis" ../../../cli/portcullis)
"$portcullis" init --source "$here/../../.." >/dev/null 2>&1
for language in c cpp rust assemblyscript javascript; do
	id=hello-$language
	"$portcullis" plugin new "$id" --lang "$language" >/dev/null
	ln -s "$NODE_MODULES" "$id/node_modules"
	sh "$id/build.sh"
	"$portcullis" plugin pack "$id/plugin.wasm" >/dev/null 2>&1
	"$portcullis" plugin install "$id/dist" --core assistant >/dev/null
	"$portcullis" call "hello$language.greet" --args '{"name":"Ada"}' | grep -q '"greeting": *"Hello, Ada!"' ||
		{ echo "$language: plugin new, build.sh, plugin pack, plugin install and call did not greet Ada"; exit 1; }
	echo "$language: from plugin new to a call"
done
sh "$here/build.sh" "$work/out" >built.txt
if [ "$1" = keep ]; then
	mkdir -p "$kept"
	cp out/* built.txt "$kept/"
	{
		clang --version | head -n 1
		/usr/bin/rustc --version
		echo "AssemblyScript $(node_modules/.bin/asc --version | cut -d" " -f2)"
		echo "QuickJS $(cat "$QUICKJS/VERSION")"
		dpkg-query -W -f '${Package} ${Version}\n' wasi-libc libclang-rt-14-dev-wasm32 libc++-14-dev-wasm32 lld-14
	} >"$kept/toolchains.txt"
fi
same=0 all=0
while read -r name digest rest; do
	all=$((all + 1))
	if grep -q "^$name $digest " "$kept/built.txt"; then
		same=$((same + 1))
	else
		echo "$name: other bytes than those kept: $digest"
	fi
done <built.txt
echo "$same of $all guests are the same bytes"
[ $same = $all ]
