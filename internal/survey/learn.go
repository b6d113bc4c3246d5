package survey

import (
	"context"
	"encoding/json"

	"github.com/headrace/headrace/internal/record"
	"github.com/headrace/headrace/op/core"
	"github.com/headrace/headrace/recipe"
	"github.com/headrace/headrace/sample"
	"github.com/headrace/headrace/tensor"
)

// learns reports whether a step of the engine needs a sample to know its results.
func learns(args recipe.Args) bool {
	l, ok := args.(core.Learner)
	return ok && l.Learns()
}

// learn returns the arguments of a step of the engine with the types of its results.
func (f *Survey) learn(ctx context.Context, r recipe.Recipe, before recipe.Chain, s recipe.Step, in *branch) (recipe.Args, error) {
	l := s.Args.(core.Learner)
	p := &probing{learner: l}
	if err := f.try(ctx, r, before, s, s.Name, p, s.Failures, in); err != nil {
		return nil, err
	}
	gives := p.gives[0]
	f.learned = true
	for i := range gives {
		// What one file tells of sizes need not be so of others.
		shape := gives[i].Type.Shape
		varies := shape
		if recipe.CouldBeImage(gives[i].Type) {
			varies = shape[:2]
		}
		for axis, extent := range varies {
			if extent != tensor.Unknown {
				f.guesses = append(f.guesses, guess{shape, axis, extent})
			}
		}
	}
	return l.WithGives(recipe.Gives{Schema: gives, Tried: true}), nil
}

// learning replaces a step that learns: its results are keys.
type learning struct{ what *probing }

// Held implements recipe.Holder.
func (l *learning) Held() any { return l.what.learner }

// MarshalJSON implements recipe.Holder.
func (l *learning) MarshalJSON() ([]byte, error) { return json.Marshal(l.what.learner) }

// Check implements recipe.Args.
func (l *learning) Check(in sample.Schema) (sample.Schema, error) {
	if _, err := l.what.learner.Check(in); err != nil {
		return nil, err
	}
	return probed, nil
}

var _ core.Linker = (*learning)(nil)

// Link implements [core.Linker].
func (l *learning) Link(w *core.Env, _ string, t *core.Scope) (core.Part, error) {
	next := &lesson{env: w, what: l.what, learn: l.what.learner.Learn(t), key: t.Columns.Put("key", sample.TextType)}
	var err error
	t.Schema, err = l.Check(t.Schema)
	return next, err
}

// lesson is the part of a learning. Its stage has one worker.
type lesson struct {
	env   *core.Env
	what  *probing
	learn func(*record.Record) (sample.Schema, error)
	key   record.Column
}

// Run implements [core.Part].
func (l *lesson) Run(_ context.Context, it *record.Record, _ *core.Tool) error {
	if l.what.gives == nil {
		gives, err := l.learn(it)
		if err != nil {
			return err
		}
		l.what.gives = []sample.Schema{gives}
	}
	it.Values.Texts[l.key.At] = it.Key
	return nil
}

// Foresee implements [core.Part].
func (*lesson) Foresee(*record.Record, *core.Tool) int64 { return 0 }
