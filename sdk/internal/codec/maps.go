package codec

import (
	"reflect"
	"unsafe"
)

// Map adds one type of map; [MapOf] makes it. The table reaches maps through
// functions that the compiler made for the type: what package reflect has for
// writing a map links 160 kB. In them p points to the map.
type Map struct {
	key, elem reflect.Type
	// make puts an empty map there.
	make func(p unsafe.Pointer)
	// set puts the value at elem under a key.
	set func(p unsafe.Pointer, key string, elem unsafe.Pointer)
	// get gives a copy of the value under a key, or nil.
	get func(p unsafe.Pointer, key string) unsafe.Pointer
	// keys gives the keys in any order.
	keys func(p unsafe.Pointer) []string
}

// MapOf is the map with keys K and values V. It serves named types of such maps too.
func MapOf[K ~string, V any]() Map {
	return Map{
		key: reflect.TypeFor[K](), elem: reflect.TypeFor[V](),
		make: func(p unsafe.Pointer) { *(*map[K]V)(p) = map[K]V{} },
		set:  func(p unsafe.Pointer, key string, elem unsafe.Pointer) { (*(*map[K]V)(p))[K(key)] = *(*V)(elem) },
		get: func(p unsafe.Pointer, key string) unsafe.Pointer {
			v, ok := (*(*map[K]V)(p))[K(key)]
			if !ok {
				return nil
			}
			return unsafe.Pointer(&v)
		},
		keys: func(p unsafe.Pointer) []string {
			m := *(*map[K]V)(p)
			keys := make([]string, 0, len(m))
			for k := range m {
				keys = append(keys, string(k))
			}
			return keys
		},
	}
}

// table finds the functions for a map type: those that were added, or the ones
// for values that many maps have. A map of any number of eight bytes is read as
// one of uint64: same size, no pointers, and so the same map to the runtime.
func (x Extra) table(t reflect.Type) *Map {
	for i := range x.Maps {
		if x.Maps[i].key == t.Key() && x.Maps[i].elem == t.Elem() {
			return &x.Maps[i]
		}
	}
	var m Map
	switch k := t.Elem().Kind(); {
	case k == reflect.String:
		m = MapOf[string, string]()
	case k == reflect.Bool:
		m = MapOf[string, bool]()
	case k == reflect.Interface && t.Elem().NumMethod() == 0:
		m = MapOf[string, any]()
	case k == reflect.Float64, (k == reflect.Int || k == reflect.Int64 || k == reflect.Uint || k == reflect.Uint64) && t.Elem().Size() == 8:
		m = MapOf[string, uint64]()
	default:
		return nil
	}
	return &m
}

// sort orders keys by their bytes: a heap sort, where package slices would add
// 28 kB to order a handful.
func sort(keys []string) {
	for i := len(keys)/2 - 1; i >= 0; i-- {
		sift(keys, i)
	}
	for end := len(keys) - 1; end > 0; end-- {
		keys[0], keys[end] = keys[end], keys[0]
		sift(keys[:end], 0)
	}
}

// sift lets the key at i sink below the greater ones under it.
func sift(keys []string, i int) {
	for {
		child := 2*i + 1
		if child >= len(keys) {
			return
		}
		if child+1 < len(keys) && keys[child] < keys[child+1] {
			child++
		}
		if keys[i] >= keys[child] {
			return
		}
		keys[i], keys[child] = keys[child], keys[i]
		i = child
	}
}
