package compile

import (
	"context"
	"fmt"
	"slices"

	"github.com/headrace/headrace/internal/record"
	"github.com/headrace/headrace/internal/source"
	"github.com/headrace/headrace/op/core"
	"github.com/headrace/headrace/op/data"
	"github.com/headrace/headrace/op/python"
	"github.com/headrace/headrace/recipe"
	"github.com/headrace/headrace/recipe/fuse"
	"github.com/headrace/headrace/sample"
)

// merge puts lines together.
func (b *builder) merge(m *fuse.Merge) error {
	b.line.merge = m
	ways := map[*record.Source][]core.PathStep{}
	var given []sample.Schema
	samples := int64(0)
	for i, f := range m.Of {
		of := builder{compiler: b.compiler, plan: b.plan, scope: b.scope}
		var err error
		if of.line, of.scope, err = b.compiler.line(b.plan, f, b.scope); err != nil {
			return err
		}
		if again := b.again[of.line.source]; again != nil {
			of.line.source, b.line.mixed = again, again.Contents.(*source.Mixed).In
		}
		of.alike(m, i)
		b.line.of = append(b.line.of, of.line)
		for _, s := range f.Sources() {
			ways[&b.sources[s].Source] = of.path
		}
		samples += of.samples
		b.Columns, b.video = of.Columns, of.video
		given = append(given, of.Schema)
	}
	b.Schema = united(given)
	if m.Mix != nil && m.Mix.Choose != "" {
		var err error
		if b.line.chooser, err = python.NewChooser(b.Env, m.Name, m.Mix.Choose, m.Names); err != nil {
			return err
		}
	}
	if most, ok := m.Until.Samples(); ok {
		b.line.most = b.Part(most).Len()
		if samples = min(samples, b.line.most); b.line.mixed != nil {
			samples = b.line.most
		}
	}

	env := b.Env
	b.Memory, b.samples = nil, samples
	// A sample that is read again takes the way of its own source.
	b.path = []core.PathStep{{Do: func(ctx context.Context, it *record.Record) (*record.Record, error) {
		return env.Follow(ctx, it, ways[it.Source.Base()])
	}}}
	return nil
}

// alike gives samples of the i-th line of a merge or mix the fields that those of
// others have.
func (b *builder) alike(m *fuse.Merge, i int) {
	named := fuse.Part{Names: []string{fmt.Sprintf("%s.%d", m.Name, i)}}
	if m.Keys && b.Schema.Find("key") < 0 {
		b.reach(named)
		b.change(data.NewKey(b.Env, &b.Columns))
		b.Schema = b.Schema.With("key", sample.TextType)
	}
	if m.Mix != nil && m.Mix.Source != "" {
		b.tag(m, named)
	}
	if m.Mix != nil && m.Mix.By != "" {
		defer func() {
			b.reach(named)
			b.change(data.NewLength(b.Env, m.Mix.By, b.Schema, &b.Columns))
		}()
	}
	if m.Fields == nil {
		return
	}
	whole := m.Fields[i]
	if len(whole) > len(b.Schema) {
		b.reach(named)
		b.change(data.NewFill(b.Env, b.Schema, whole, m.Fill, &b.Columns))
	}
	b.Schema = whole
}

// united returns the schema of samples of several lines. The recipe's check has found
// that they differ at most in extents, which are unknown then.
func united(all []sample.Schema) sample.Schema {
	out, _ := recipe.Unite(all, func(int) string { return "" })
	return out
}

// route divides samples among branches. These have the same columns, so it does not
// matter with those of which one goes on.
func (b *builder) route(r *fuse.Route) error {
	choose, err := chooser(r, b.Schema, b.Columns.Of[r.By])
	if err != nil {
		return err
	}
	h := b.Policies.Of(r.Failures, b.samples)
	next := &routing{name: r.Name, steps: []string{r.Name}, choose: namedChoice(choose), losses: h.Policy, known: handles(r.Name, h)}
	if h.Replaces { // a router only looks, so what no branch takes is replaced before it
		pass := func(_ context.Context, it *record.Record) error { _, err := choose(it); return err }
		b.push(&stage{name: r.Name, steps: next.steps}, r.Failures, pass, func(*record.Record) {})
		next.name, next.steps, next.losses = r.Name+".branches", nil, nil
	}

	env, before := b.Env, b.scope
	ways := make([][]core.PathStep, len(r.Branches))
	var given []sample.Schema
	for i, branch := range r.Branches {
		t := before
		t.Columns, t.Memory, t.lost = before.Columns.Branch(), nil, false
		// What replaces a sample of this branch must belong to it, too.
		t.path = append(slices.Clip(before.path), core.PathStep{Do: core.OnlyBranch(i, choose, env)})
		n, t, err := b.compiler.line(b.plan, branch.Flow, t)
		if err != nil {
			return err
		}
		next.branches = append(next.branches, n)
		if ways[i] = t.path; !t.lost {
			ways[i] = t.path[len(before.path)+1:]
		}
		given, b.scope = append(given, t.Schema), t
	}
	b.Schema = united(given)

	b.Memory, b.lost = nil, before.lost
	b.path = append(slices.Clip(before.path), core.PathStep{Do: func(ctx context.Context, it *record.Record) (*record.Record, error) {
		i, err := choose(it)
		if err != nil {
			env.Drop(it)
			return nil, err
		}
		return env.Follow(ctx, it, ways[i])
	}})
	b.line.steps = append(b.line.steps, step{routing: next})
	return nil
}

// namedChoice says of an error which sample it is about.
func namedChoice(choose func(*record.Record) (int, error)) func(context.Context, *record.Record) (int, error) {
	return func(_ context.Context, it *record.Record) (int, error) {
		i, err := choose(it)
		if err != nil {
			err = core.Blame(it, err)
		}
		return i, err
	}
}
