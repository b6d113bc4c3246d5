package main

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"slices"

	"headrace"
	"headrace/pipe"
	"headrace/recipe"
	"headrace/sample"
	"headrace/tensor"
)

// firstRows runs a recipe for its first samples, one by one: no good sample waits for others of its batch that fail, and one that fails has its place
// among the others. T is what is made of a sample.
type firstRows[T any] struct {
	loader *headrace.Loader
	most   int
	lost   map[int64]T // by position
}

// openFirstRows opens the recipe for up to most samples. Of one that fails, bad makes what is told.
func openFirstRows[T any](ctx context.Context, r recipe.Recipe, c headrace.Config, most int, bad func(headrace.Lost) T) (*firstRows[T], error) {
	c.Epochs, c.Order, c.Prefetch = nil, headrace.InputOrder, min(most, 16)
	c.OnError, c.MaxErrors = headrace.Skip, headrace.ErrorCount(most)
	f := &firstRows[T]{most: most, lost: map[int64]T{}}
	l, err := headrace.Open(ctx, oneByOne(r), c, headrace.Options{Lost: func(s headrace.Lost) { f.lost[s.ID.Pos] = bad(s) }})
	f.loader = l
	return f, err
}

// take returns what is made of the first samples of an epoch, in its order. Of a good one, row makes it.
func (f *firstRows[T]) take(ctx context.Context, epoch int, row func(*headrace.Batch) (T, error)) ([]T, error) {
	state := f.loader.Info().State
	state.Epoch = epoch
	if err := f.loader.Start(state, nil); err != nil {
		return nil, err
	}
	var rows []T
	for len(rows)+len(f.lost) < f.most {
		b, err := f.loader.Next(ctx)
		if err == io.EOF || err == pipe.ErrDone || errors.Is(err, headrace.ErrTooManyLost) {
			break
		}
		if err != nil {
			return nil, err
		}
		made, err := row(b)
		b.Release()
		if err != nil {
			return nil, err
		}
		rows = append(rows, made)
	}
	return f.inOrder(rows), nil
}

// inOrder puts those that failed between the others.
func (f *firstRows[T]) inOrder(rows []T) (all []T) {
	for pos := int64(0); len(all) < f.most; pos++ {
		if bad, failed := f.lost[pos]; failed {
			all = append(all, bad)
		} else if len(rows) > 0 {
			all, rows = append(all, rows[0]), rows[1:]
		} else {
			break
		}
	}
	return all
}

// oneByOne is the recipe with batches of one sample. What is in a sample does not depend on its batch.
func oneByOne(r recipe.Recipe) recipe.Recipe {
	r.Steps = slices.Clone(r.Steps)
	for i, s := range r.Steps {
		if _, ok := s.Args.(*recipe.Batch); ok {
			r.Steps[i].Args = &recipe.Batch{Size: 1}
		}
	}
	return r
}

// labelOf is the label of a batch of one sample, if samples have one.
func labelOf(b *headrace.Batch) (int64, bool) {
	t, ok := b.Tensor("label")
	if !ok || t.DType != tensor.Int64 || len(t.Shape) != 1 {
		return 0, false
	}
	return int64(binary.LittleEndian.Uint64(t.Data)), true
}

// reason is what was wrong with a sample, without its name, which stands beside it.
func reason(err error) string {
	if bad := (*sample.Error)(nil); errors.As(err, &bad) {
		err = bad.Err
	}
	return err.Error()
}
