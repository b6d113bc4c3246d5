package pipe

import (
	"context"
	"iter"
)

// Unbatch makes the elements of every slice items of their own, in their order. Those
// that nobody takes are disposed of as the slices are: one by one, as slices of one.
func Unbatch[T any](in Flow[[]T], o UnbatchOpts) Flow[T] {
	f := FlatMap(in, elements(in.drop), Opts{Name: o.Name, Buffer: o.Buffer, Ordered: true})
	f.node.kind = kindUnbatch
	if in.drop != nil {
		f.drop = func(v T) { in.drop([]T{v}) }
	}
	return f
}

// UnbatchOpts are the settings of an Unbatch.
type UnbatchOpts struct {
	Name   string // of the stage; required, and unique in its flow
	Buffer int    // elements kept ready; 0: DefaultBuffer
}

func elements[T any](drop func([]T)) func(context.Context, []T) iter.Seq2[T, error] {
	return func(_ context.Context, slice []T) iter.Seq2[T, error] {
		return func(yield func(T, error) bool) {
			for i, v := range slice {
				if yield(v, nil) {
					continue
				}
				if rest := slice[i+1:]; drop != nil && len(rest) > 0 {
					drop(rest)
				}
				return
			}
		}
	}
}
