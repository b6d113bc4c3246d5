package survey

import (
	"context"
	"errors"
	"fmt"

	"github.com/headrace/headrace/extern"
	"github.com/headrace/headrace/internal/source"
	"github.com/headrace/headrace/op/core"
	"github.com/headrace/headrace/op/python"
	"github.com/headrace/headrace/recipe"
	"github.com/headrace/headrace/recipe/fuse"
	"github.com/headrace/headrace/sample"
)

// object finds the fields of an object's samples by its first one, if its step does not
// say them.
func (f *Survey) object(ctx context.Context, r recipe.Recipe, s recipe.Step, call *recipe.Call) (gives recipe.Gives, err error) {
	nothing := mistake(r, s.Name, errors.New("has no gives and no sample to find it from: set gives"))
	if call.Length != nil && *call.Length == 0 {
		return gives, mistake(r, s.Name, errors.New("has no samples: its length is 0"))
	}

	h := f.Host
	defer h.Renew(1, true)

	kind := extern.Index
	if call.Iterated() {
		kind = extern.Iterate
	}
	pool, _, err := source.OpenWorkers(h, &fuse.Source{Name: s.Name, Args: s.Args, Failures: s.Failures}, kind, f.Rank, max(1, f.World))
	if err != nil {
		return gives, err
	}

	c := &extern.Call{ID: sample.ID{Source: s.Name}, Key: "0"}
	note := func(out []extern.Value) error {
		for i, name := range c.Names {
			t := sample.Type{Kind: out[i].Kind}
			if t.Kind == sample.Tensor {
				t = sample.TensorType(out[i].DType, out[i].Shape...)
			}
			gives.Schema = append(gives.Schema, sample.Field{Name: name, Type: t})
			if h.Heap.Has(out[i].Data) {
				h.Heap.Give(out[i].Data)
			}
		}
		return python.ErrEnough
	}

	// The worker keeps the iterator for the run: beginning again would lose the samples
	// that a queue has given.
	switch {
	case kind == extern.Iterate:
		err = pool.Stream(ctx, c, note)
	case call.Named() || len(call.Seed) > 0: // the run has its names, and its random numbers
		if err = pool.Call(ctx, c); err == nil {
			err = note(c.Out)
		}
	default:
		first := &python.Function{Env: &core.Env{Host: h}, Name: s.Name, Pool: pool}
		if err = first.Try(ctx, c, nil); err == nil {
			err = note(c.Out)
		}
	}

	switch {
	case err == nil:
		return gives, nothing
	case !errors.Is(err, python.ErrEnough):
		return gives, fmt.Errorf("headrace: %s: %w", s.Name, &sample.Error{Key: "0", Err: err})
	case len(gives.Schema) == 0:
		return gives, mistake(r, s.Name, errors.New("gives a sample without fields"))
	}

	if c.Tuple != nil && r.Unseen() {
		gives.Schema, gives.Tuple = c.Tuple, true
	} else {
		gives.Values = c.Tuple
		if f.Unnamed == "" {
			f.Unnamed = c.Unnamed
		}
	}
	gives.Schema = bare(gives.Schema, r)
	f.remember(gives.Schema, false)
	return gives, nil
}
