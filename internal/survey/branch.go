package survey

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/headrace/headrace/internal/record"
	"github.com/headrace/headrace/op/core"
	"github.com/headrace/headrace/pipe"
	"github.com/headrace/headrace/recipe"
	"github.com/headrace/headrace/sample"
)

// mostElsewhere is how many samples each other branch takes before a branch that has had
// none is tried with a sample that it would not get. Enough for a branch that takes one
// in fifty, and few enough to wait for.
const mostElsewhere = 256

var errElsewhere = errors.New("headrace: samples go to other branches")

// branch is the place of steps in a branch of a route, or of routes in one another.
type branch struct {
	before []recipe.Step // all that a sample passes on its way to the first of them
	// within makes a recipe where only samples of the branch come to these steps, after
	// which they have this schema.
	within func(steps []recipe.Step, schema sample.Schema) []recipe.Step
}

// into returns the place in the i-th branch of a route, after steps that are in b.
func (b *branch) into(before []recipe.Step, route recipe.Step, i int) *branch {
	inner := &branch{before: slices.Clone(before), within: func(steps []recipe.Step, schema sample.Schema) []recipe.Step {
		k := -1
		only := route
		only.Args = recipe.EachChain(route.Args, func([]recipe.Step) []recipe.Step {
			if k++; k == i {
				return steps
			}
			name := fmt.Sprintf("%s.%d", route.Name, k)
			return []recipe.Step{{Op: "filter", Name: name, Args: &elsewhere{schema}}}
		})
		return append(slices.Clone(before), only)
	}}
	if b != nil {
		outer, within := b, inner.within
		inner.before = append(slices.Clone(b.before), before...)
		inner.within = func(steps []recipe.Step, schema sample.Schema) []recipe.Step {
			return outer.within(within(steps, schema), schema)
		}
	}
	return inner
}

// all returns the steps that a sample passes, with those before in its branch.
func (b *branch) all(before []recipe.Step) []recipe.Step {
	if b == nil {
		return before
	}
	return append(slices.Clone(b.before), before...)
}

// tryIn has functions called with a sample of their branch. If none comes among the
// first, they are called with the first that comes to the route.
func (f *Survey) tryIn(ctx context.Context, b *branch, r recipe.Recipe, steps []recipe.Step, end recipe.Step,
	asks string, p *probing) error {
	prefix := recipe.Recipe{Seed: r.Seed, Steps: append(b.within(steps, probed), end)}
	_, err := f.first(ctx, prefix, p.atEnd)
	if err != io.EOF && !errors.Is(err, errElsewhere) {
		return err
	}

	p.flush = nil
	prefix.Steps = append(b.all(steps), end)
	made, err := f.first(ctx, prefix, p.atEnd)
	switch {
	case err == nil:
		return nil
	case err == io.EOF && made.Failed != nil: // wherever it came
		return noneCame(r, asks, made, err)
	case err == io.EOF:
		err = errors.New("no sample came at all")
	}
	return elsewhereFailed(r, asks, err)
}

// elsewhereFailed says why a function was called with a sample that is none of its own.
func elsewhereFailed(r recipe.Recipe, asks string, err error) error {
	return mistake(r, asks, fmt.Errorf("has no gives, and none of the first samples comes to its branch; "+
		"called with one of another branch to find it, it failed: set gives\n  %w", err))
}

// elsewhere replaces the steps of a branch whose samples are of no interest: they are
// dropped.
type elsewhere struct {
	schema sample.Schema // of what comes out of the branch that is tried
}

// Held implements recipe.Holder.
func (e *elsewhere) Held() any { op, _ := recipe.Find("filter"); return op.New() }

// MarshalJSON implements recipe.Holder.
func (e *elsewhere) MarshalJSON() ([]byte, error) { return json.Marshal(e.Held()) }

// Check implements recipe.Args.
func (e *elsewhere) Check(sample.Schema) (sample.Schema, error) { return e.schema, nil }

// Plain implements [recipe.Plain].
func (*elsewhere) Plain() bool { return false }

var _ core.Linker = (*elsewhere)(nil)

// Link implements [core.Linker].
func (e *elsewhere) Link(_ *core.Env, _ string, t *core.Scope) (core.Part, error) {
	t.Schema = e.schema
	for _, f := range t.Schema {
		t.Columns.PutAny(f.Name, f.Type)
	}
	return new(dropping), nil
}

// dropping is the part that an elsewhere is.
type dropping struct{ samples int }

// Run implements [core.Part]. The stage has one worker.
func (d *dropping) Run(context.Context, *record.Record, *core.Tool) error {
	if d.samples++; d.samples > mostElsewhere {
		return pipe.Fatal(errElsewhere)
	}
	return pipe.Skip
}

// Foresee implements [core.Part].
func (*dropping) Foresee(*record.Record, *core.Tool) int64 { return 0 }
