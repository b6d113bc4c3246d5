package preview

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/pipe"
	"github.com/headrace/headrace/recipe"
	"github.com/headrace/headrace/sample"
	"github.com/headrace/headrace/tensor"
)

// Rows runs a recipe for its first samples, one by one: no good sample waits for others
// of its batch that fail, and one that fails has its place among the others. T is what
// is made of a sample.
type Rows[T any] struct {
	Loader *headrace.Loader

	most int
	rows []T // so far: the loader tells of one that fails when its turn comes
}

// Open opens the recipe for up to most samples. Of one that fails, bad makes what is
// told; what o says of losses is not heeded. The loader is to be closed.
func Open[T any](ctx context.Context, r recipe.Recipe, c headrace.Config, o headrace.Options,
	most int, bad func(headrace.Lost) T) (*Rows[T], error) {
	c.Epochs, c.Order, c.Prefetch = nil, headrace.InputOrder, new(min(most, 16))
	c.OnError, c.MaxErrors = headrace.Skip, headrace.ErrorCount(most)
	c.Rank, c.WorldSize, c.StepsPerEpoch = 0, 1, nil // those that all ranks begin with, however many batches they make of an epoch
	c.DeadLetters = ""                               // that is for losses of runs
	f := &Rows[T]{most: most}
	collates := slices.ContainsFunc(r.Steps,
		func(s recipe.Step) bool { b := recipe.TraitsOf(s.Args).Batches; return b != nil && b.Collate != nil })
	r.Steps = recipe.Unpaced(oneByOne(r.Complete().Steps))
	o.Lost = func(s headrace.Lost) { f.rows = append(f.rows, bad(s)) }
	var err error
	f.Loader, err = headrace.Open(ctx, r, c, o)
	if err != nil && collates {
		err = fmt.Errorf("%w (samples are shown one by one, as they come to collate)", err)
	}
	return f, err
}

// Take returns what is made of the first samples of an epoch, in its order. Of a good
// one, row makes it.
func (f *Rows[T]) Take(ctx context.Context, epoch int, row func(*headrace.Batch) (T, error)) ([]T, error) {
	state := f.Loader.Info().State
	state.Epoch = epoch
	if err := f.Loader.Start(state, nil); err != nil {
		return nil, err
	}
	f.rows = nil
	for len(f.rows) < f.most {
		b, err := f.Loader.Next(ctx)
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
		f.rows = append(f.rows, made)
	}
	return f.rows[:min(len(f.rows), f.most)], nil
}

// oneByOne makes steps of batches of one sample, in which each that fails is only told
// of. What is in a sample does not depend on its batch, and what a function makes of a
// whole batch is not shown.
func oneByOne(steps []recipe.Step) []recipe.Step {
	steps = recipe.WithoutLanes(steps)
	for i, s := range steps {
		if b := recipe.TraitsOf(s.Args).Batches; b != nil && (b.Stacks() || b.Collate != nil) {
			one := recipe.Batches{Size: 1, DropLast: b.DropLast, Ragged: b.Ragged}
			if b.GlobalSize > 0 { // which a schedule in steps needs
				one.Size, one.GlobalSize = 0, 1
			}
			s.Args = recipe.StackOf(one)
		}
		s.Args = recipe.EachChain(s.Args, oneByOne)

		if s.Failures != nil {
			f := *s.Failures
			f.OnError, f.MaxErrors = "", nil
			s.Failures = &f
		}
		steps[i] = s
	}
	return steps
}

// Label is the label of a batch of one sample, if samples have one.
func Label(b *headrace.Batch) (int64, bool) {
	t, ok := b.Tensor("label")
	if !ok || t.DType != tensor.Int64 || len(t.Shape) > 1 {
		return 0, false
	}
	return int64(binary.LittleEndian.Uint64(t.Data)), true
}

// Reason is what was wrong with a sample, without its name, which is beside it.
func Reason(err error) string {
	if bad := (*sample.Error)(nil); errors.As(err, &bad) {
		err = bad.Err
	}
	return err.Error()
}
