package pipe

import (
	"context"
	"fmt"
)

// At is the operation that looks an item up by its index. A Map with it reads an indexed
// collection in the order of a source of indexes.
func At[V any](items []V) func(context.Context, int) (V, error) {
	return func(_ context.Context, i int) (v V, err error) {
		if i < 0 || i >= len(items) {
			return v, &KeyError{Key: i}
		}
		return items[i], nil
	}
}

// Lookup is the operation that looks an item up by its key.
func Lookup[K comparable, V any](items map[K]V) func(context.Context, K) (V, error) {
	return func(_ context.Context, k K) (V, error) {
		v, ok := items[k]
		if !ok {
			return v, &KeyError{Key: k}
		}
		return v, nil
	}
}

// A KeyError is the failure of an item that is looked up and not there.
type KeyError struct {
	Key any
}

func (e *KeyError) Error() string { return fmt.Sprintf("there is no item %v in the collection", e.Key) }
