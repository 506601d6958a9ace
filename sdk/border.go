package sdk

import "github.com/b3abf3ee/portcullis/sdk/internal/abi"

// border is the host as a guest sees it: an argument block's content out, a
// reply block's content back. It is an interface so that a test can answer in
// place of a host. Go's linker drops a method of it that no reachable code
// calls, and the import behind it; that is what keeps a plugin's imports to what
// it uses.
type border interface {
	system
	web
	fileSystem
	keySystem
	signer
}

type system interface {
	log(arg []byte) []byte
	emit(arg []byte) []byte
	now() []byte
	random(arg []byte) []byte
	config(name string) (string, bool)
}

type web interface {
	http(arg []byte) []byte
}

type fileSystem interface {
	fsStat(arg []byte) []byte
	fsRead(arg []byte) []byte
	fsList(arg []byte) []byte
	fsWrite(arg []byte) []byte
	fsMkdir(arg []byte) []byte
	fsRemove(arg []byte) []byte
	fsRename(arg []byte) []byte
}

type keySystem interface {
	kvGet(arg []byte) []byte
	kvSet(arg []byte) []byte
	kvDelete(arg []byte) []byte
	kvList(arg []byte) []byte
}

type signer interface {
	sign(arg []byte) []byte
}

// imports is the real border. Only a guest uses it; the assertion has every other
// build check it too.
type imports struct{}

var _ border = imports{}

func (imports) log(arg []byte) []byte             { return abi.Log(arg) }
func (imports) emit(arg []byte) []byte            { return abi.Emit(arg) }
func (imports) now() []byte                       { return abi.Now() }
func (imports) random(arg []byte) []byte          { return abi.Random(arg) }
func (imports) config(name string) (string, bool) { return abi.Config(name) }
func (imports) http(arg []byte) []byte            { return abi.HTTP(arg) }
func (imports) fsStat(arg []byte) []byte          { return abi.FSStat(arg) }
func (imports) fsRead(arg []byte) []byte          { return abi.FSRead(arg) }
func (imports) fsList(arg []byte) []byte          { return abi.FSList(arg) }
func (imports) fsWrite(arg []byte) []byte         { return abi.FSWrite(arg) }
func (imports) fsMkdir(arg []byte) []byte         { return abi.FSMkdir(arg) }
func (imports) fsRemove(arg []byte) []byte        { return abi.FSRemove(arg) }
func (imports) fsRename(arg []byte) []byte        { return abi.FSRename(arg) }
func (imports) kvGet(arg []byte) []byte           { return abi.KVGet(arg) }
func (imports) kvSet(arg []byte) []byte           { return abi.KVSet(arg) }
func (imports) kvDelete(arg []byte) []byte        { return abi.KVDelete(arg) }
func (imports) kvList(arg []byte) []byte          { return abi.KVList(arg) }
func (imports) sign(arg []byte) []byte            { return abi.Sign(arg) }
