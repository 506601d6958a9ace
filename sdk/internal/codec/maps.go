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
	// put puts the value at elem under a key and gives how many there are then; without elem it puts an empty map there.
	put func(p unsafe.Pointer, key string, elem unsafe.Pointer) int
	// all gives copies of the values, in any order.
	all func(p unsafe.Pointer) []entry
}

// entry is a key with a pointer to a value.
type entry struct {
	key  string
	elem unsafe.Pointer
}

// MapOf is the map with keys K and values V. It serves named types of such maps too.
func MapOf[K ~string, V any]() Map {
	m := mapOf[K, V]()
	m.key, m.elem = reflect.TypeFor[K](), reflect.TypeFor[V]()
	return m
}

func mapOf[K ~string, V any]() Map {
	return Map{
		put: func(p unsafe.Pointer, key string, elem unsafe.Pointer) int {
			m := (*map[K]V)(p)
			if elem == nil {
				*m = map[K]V{}
				return 0
			}
			(*m)[K(key)] = *(*V)(elem)
			return len(*m)
		},
		all: func(p unsafe.Pointer) (all []entry) {
			for k, v := range *(*map[K]V)(p) {
				all = add(all, string(k), unsafe.Pointer(&v))
			}
			return all
		},
	}
}

//go:noinline
func add(all []entry, key string, elem unsafe.Pointer) []entry {
	return append(all, entry{key, elem})
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
		m = mapOf[string, string]()
	case k == reflect.Bool:
		m = mapOf[string, bool]()
	case k == reflect.Interface && t.Elem().NumMethod() == 0:
		m = mapOf[string, any]()
	case k == reflect.Float64, (k == reflect.Int || k == reflect.Int64 || k == reflect.Uint || k == reflect.Uint64) && t.Elem().Size() == 8:
		m = mapOf[string, uint64]()
	default:
		return nil
	}
	return &m
}

// sort orders entries by the bytes of their keys: a heap sort, where package slices would add
// 28 kB to order a handful.
func sort(all []entry) {
	for i := len(all)/2 - 1; i >= 0; i-- {
		sift(all, i)
	}
	for end := len(all) - 1; end > 0; end-- {
		swap(all, 0, end)
		sift(all[:end], 0)
	}
}

// sift lets the entry at i sink below the greater ones under it.
//
//go:noinline
func sift(all []entry, i int) {
	for {
		child := 2*i + 1
		if child >= len(all) {
			return
		}
		if child+1 < len(all) && all[child].key < all[child+1].key {
			child++
		}
		if all[i].key >= all[child].key {
			return
		}
		swap(all, i, child)
		i = child
	}
}

//go:noinline
func swap(all []entry, i, j int) { all[i], all[j] = all[j], all[i] }
