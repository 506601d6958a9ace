package sdk

import "github.com/b3abf3ee/portcullis/sdk/wire"

// ConfigGet is the name under which a [Program.NativeHost] is asked for a setting.
const ConfigGet = "config_get"

// NativeHost is the [Host] of a guest over a function that answers host calls
// in place of a host: it is given the import's name and the argument block's
// content and returns the reply's, nil for offset 0. It exists so that
// sdk/plugintest runs the code that a guest runs, frames and all; the linker
// leaves it out of guests.
func (p *Program) NativeHost(serve func(function string, arg []byte) []byte) Host {
	return p.host(served(serve))
}

// served is a border that asks a function.
type served func(function string, arg []byte) []byte

func (s served) log(arg []byte) []byte      { return s(wire.ImportLog, arg) }
func (s served) emit(arg []byte) []byte     { return s(wire.ImportEmit, arg) }
func (s served) random(arg []byte) []byte   { return s(wire.ImportRandom, arg) }
func (s served) http(arg []byte) []byte     { return s(wire.ImportHTTP, arg) }
func (s served) fsStat(arg []byte) []byte   { return s(wire.ImportFSStat, arg) }
func (s served) fsRead(arg []byte) []byte   { return s(wire.ImportFSRead, arg) }
func (s served) fsList(arg []byte) []byte   { return s(wire.ImportFSList, arg) }
func (s served) fsWrite(arg []byte) []byte  { return s(wire.ImportFSWrite, arg) }
func (s served) fsMkdir(arg []byte) []byte  { return s(wire.ImportFSMkdir, arg) }
func (s served) fsRemove(arg []byte) []byte { return s(wire.ImportFSRemove, arg) }
func (s served) fsRename(arg []byte) []byte { return s(wire.ImportFSRename, arg) }
func (s served) kvGet(arg []byte) []byte    { return s(wire.ImportKVGet, arg) }
func (s served) kvSet(arg []byte) []byte    { return s(wire.ImportKVSet, arg) }
func (s served) kvDelete(arg []byte) []byte { return s(wire.ImportKVDelete, arg) }
func (s served) kvList(arg []byte) []byte   { return s(wire.ImportKVList, arg) }
func (s served) sign(arg []byte) []byte     { return s(wire.ImportSign, arg) }
func (s served) now() []byte                { return s(wire.ImportNow, nil) }

func (s served) config(name string) (string, bool) {
	v := s(ConfigGet, []byte(name))
	return string(v), v != nil
}
