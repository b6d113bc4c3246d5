package pipe

import (
	"context"
	"iter"
)

// Unbatch makes the elements of every slice items of their own, in their order.
func Unbatch[T any](in Flow[[]T], o UnbatchOpts) Flow[T] {
	f := FlatMap(in, elements[T], Opts{Name: o.Name, Buffer: o.Buffer, Ordered: true})
	f.node.kind = kindUnbatch
	return f
}

// UnbatchOpts are the settings of an Unbatch.
type UnbatchOpts struct {
	Name   string // of the stage; required, and unique in its flow
	Buffer int    // elements kept ready; 0: DefaultBuffer
}

func elements[T any](_ context.Context, slice []T) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for _, v := range slice {
			if !yield(v, nil) {
				return
			}
		}
	}
}
