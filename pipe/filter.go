package pipe

import (
	"context"

	"github.com/headrace/headrace/pipe/internal/failure"
)

// Filter keeps the items for which keep is true. The others are dropped as if by Skip.
// keep only looks at its item: one that is dropped, or for which keep fails, is disposed
// of as Discard says.
func Filter[T any](in Flow[T], keep func(context.Context, T) (bool, error), o Opts) Flow[T] {
	f := Map(in, filtered(keep, in.drop), o)
	f.node.kind = kindFilter
	f.drop = in.drop
	return f
}

func filtered[T any](keep func(context.Context, T) (bool, error), drop func(T)) func(context.Context, T) (T, error) {
	if keep == nil {
		return nil
	}
	return func(ctx context.Context, v T) (_ T, err error) {
		kept := false
		defer func() {
			if !kept && drop != nil {
				drop(v)
			}
		}()
		if kept, err = keep(ctx, v); err != nil {
			kept = false
		} else if !kept {
			err = failure.Skip
		}
		return v, err
	}
}
