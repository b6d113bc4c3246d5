package flow

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/headrace/headrace/internal/argument"
	"github.com/headrace/headrace/internal/source"
	"github.com/headrace/headrace/op/core"
	"github.com/headrace/headrace/order"
	"github.com/headrace/headrace/recipe"
	"github.com/headrace/headrace/recipe/fuse"
	"github.com/headrace/headrace/sample"
)

var _ = Ops.Add(recipe.NewOp[Sampler]("sampler", recipe.Ordering, "Visit samples in the order that a Python object gives for each epoch."))

// Sampler are the arguments of the operation sampler.
type Sampler struct {
	Function string `json:"function,omitempty" required:"true" example:"orders:ByLength"`
	Length   int64  `json:"length,omitempty" required:"true" min:"1" example:"4000"`
	Lists    int64  `json:"lists,omitempty" min:"1"`
	Places   bool   `json:"places,omitempty" doc:"the numbers are places in the epoch, and the source itself knows which sample is there"`
}

// Docs implements [argument.Documented].
func (*Sampler) Docs() map[string]string {
	return map[string]string{
		"function": "\"module:name\" of an object: orders[epoch] are the epoch's sample numbers, as int64",
		"length":   "samples in the first epoch; others may have more or fewer",
		"lists": "lists in the first epoch, each of which is a batch, for batch with lists: orders[epoch] are " +
			"then how many lists there are, how many samples each has, and the sample numbers",
	}
}

// Check implements [recipe.Args].
func (s *Sampler) Check(in sample.Schema) (sample.Schema, error) {
	errs := []error{recipe.CheckFunction(s.Function), argument.Given("length", s.Length != 0)}
	if s.Length < 0 || s.Length > recipe.MostSamples {
		errs = append(errs, recipe.Wrong("length", "is %d: must be from 1 to %d", s.Length, int64(recipe.MostSamples)))
	}
	if s.Lists < 0 || s.Lists > s.Length {
		errs = append(errs, recipe.Wrong("lists", "is %d: must be from 1 to length, which is %d", s.Lists, s.Length))
	}
	return in, errors.Join(errs...)
}

var _ = Ops.Add(recipe.NewOp[Weighted]("weighted", recipe.Ordering, "Draw each epoch's samples by weights.").Explained(`
It follows the source, instead of 'shuffle'. Draws depend only on seed and epoch, not on workers or ranks. A sample
drawn twice gets different random crops.`,
	".weighted([1.0, 0.5, 0.5], draws=1000)").Called("weights, draws, replacement"))

// Weighted are the arguments of the operation weighted.
type Weighted struct {
	Weights     []float64 `json:"weights,omitempty" required:"true" example:"[1, 0.5]"`
	Draws       int64     `json:"draws,omitempty" min:"0" doc:"samples in an epoch; by default as many as there are weights"`
	Replacement *bool     `json:"replacement,omitempty" default:"true" doc:"a sample may be drawn again in the same epoch"`
	Seed        *uint64   `json:"seed,omitempty" doc:"by default the pipeline's"`
}

// Docs implements [argument.Documented].
func (*Weighted) Docs() map[string]string {
	return map[string]string{
		"weights": "how likely each sample of the source is drawn: numbers of at least 0, relative to their sum",
	}
}

// Complete implements [recipe.Completer].
func (w Weighted) Complete() recipe.Args {
	if w.Draws == 0 {
		w.Draws = int64(len(w.Weights))
	}
	return &w
}

// Identity writes out the seed.
func (w Weighted) Identity(r recipe.Recipe) recipe.Args {
	if w.Seed == nil {
		w.Seed = &r.Seed
	}
	return &w
}

// Check implements [recipe.Args].
func (w *Weighted) Check(in sample.Schema) (sample.Schema, error) {
	if w.Weights == nil {
		return in, errors.New("lacks the argument weights")
	}
	sum, some := 0.0, int64(0)
	for i, v := range w.Weights {
		if !(v >= 0) || v > math.MaxFloat64 {
			return in, recipe.Wrong("weights", "has %v as number %d: must be at least 0", v, i)
		}
		if sum += v; v > 0 {
			some++
		}
	}
	switch {
	case !(sum > 0) || sum > math.MaxFloat64:
		return in, recipe.Wrong("weights", "has the sum %v: must be numbers with a sum above 0", sum)
	case w.Draws < 0 || w.Draws > recipe.MostSamples:
		return in, recipe.Wrong("draws", "is %d: must be from 1 to %d", w.Draws, int64(recipe.MostSamples))
	case !argument.OrElse(w.Replacement, true) && w.Draws > some:
		return in, recipe.Wrong("draws", "is %d without replacement, but only %d samples have a weight above 0", w.Draws, some)
	}
	return in, nil
}

// Traits implements [recipe.Traited].
func (s *Sampler) Traits() recipe.Traits {
	return recipe.Traits{Lists: s.Lists, Call: &recipe.Call{Kind: recipe.OrderCall, Python: recipe.Python{Function: s.Function}}}
}

// Traits implements [recipe.Traited].
func (w *Weighted) Traits() recipe.Traits { return recipe.Traits{Seed: w.Seed} }

// Order implements [source.Orderer].
func (s *Sampler) Order(l *source.Listing, _ fuse.Order) error {
	l.SampleBy(source.Sampler{Function: s.Function, Length: s.Length, Lists: s.Lists, Places: s.Places})
	return nil
}

// Order implements [source.Orderer].
func (w *Weighted) Order(l *source.Listing, o fuse.Order) error {
	if n := int64(len(w.Weights)); n != l.Given() {
		return fmt.Errorf("%w: weights has %d numbers, but %q has %d samples: give one for each",
			core.ErrConfig, n, l.Name, l.Given())
	}
	l.SetOrder(&draws{Weighted: order.NewWeighted(w.Weights, w.Draws, *w.Replacement, o.Seed)})
	return nil
}

// draws are the samples that are drawn by weights.
type draws struct {
	*order.Weighted
	source.Recent
}

// Epoch implements [source.Order].
func (d *draws) Epoch(_ context.Context, epoch int) (order.Sequence, error) {
	if all := d.Known(epoch); all != nil {
		return all, nil
	}
	return d.Keep(epoch, d.Len(), order.Function(d.Weighted.Epoch(epoch))), nil
}
