//go:build !wasip1

package sdk

import "github.com/b3abf3ee/portcullis/sdk/wire"

// ConfigGet is the name under which a [NativeHost] is asked for a setting.
const ConfigGet = "config_get"

// NativeHost is the guest's own [Host] over a function that answers host calls
// in place of a host: it is given the import's name and the argument block's
// content and returns the reply's, nil for offset 0. It exists so that
// sdk/plugintest runs the code that a guest runs, frames and all; it is not
// part of a guest.
func (p *Program) NativeHost(serve func(function string, arg []byte) []byte) Host {
	s := served(serve)
	return &guest{sys: s, web: s, files: s, kv: s, settings: p.desc.Settings}
}

type served func(function string, arg []byte) []byte

func (s served) Log(arg []byte) []byte      { return s(wire.ImportLog, arg) }
func (s served) Emit(arg []byte) []byte     { return s(wire.ImportEmit, arg) }
func (s served) Now() []byte                { return s(wire.ImportNow, nil) }
func (s served) Random(arg []byte) []byte   { return s(wire.ImportRandom, arg) }
func (s served) HTTP(arg []byte) []byte     { return s(wire.ImportHTTP, arg) }
func (s served) FSStat(arg []byte) []byte   { return s(wire.ImportFSStat, arg) }
func (s served) FSRead(arg []byte) []byte   { return s(wire.ImportFSRead, arg) }
func (s served) FSList(arg []byte) []byte   { return s(wire.ImportFSList, arg) }
func (s served) FSWrite(arg []byte) []byte  { return s(wire.ImportFSWrite, arg) }
func (s served) FSMkdir(arg []byte) []byte  { return s(wire.ImportFSMkdir, arg) }
func (s served) FSRemove(arg []byte) []byte { return s(wire.ImportFSRemove, arg) }
func (s served) FSRename(arg []byte) []byte { return s(wire.ImportFSRename, arg) }
func (s served) KVGet(arg []byte) []byte    { return s(wire.ImportKVGet, arg) }
func (s served) KVSet(arg []byte) []byte    { return s(wire.ImportKVSet, arg) }
func (s served) KVDelete(arg []byte) []byte { return s(wire.ImportKVDelete, arg) }
func (s served) KVList(arg []byte) []byte   { return s(wire.ImportKVList, arg) }

func (s served) Config(name string) (string, bool) {
	v := s(ConfigGet, []byte(name))
	return string(v), v != nil
}
