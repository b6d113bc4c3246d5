package compile

import (
	"context"
	"slices"

	"github.com/headrace/headrace/internal/record"
	"github.com/headrace/headrace/internal/source"
	"github.com/headrace/headrace/op/core"
	"github.com/headrace/headrace/op/data"
	"github.com/headrace/headrace/recipe"
	"github.com/headrace/headrace/recipe/fuse"
	"github.com/headrace/headrace/sample"
)

// mix begins with one source, whose turns are those of several, and has each sample
// take the way of its own: so the mix has one position, one share for each rank, and
// one state, as any source has.
func (b *builder) mix(m *fuse.Merge) error {
	from := b.mixes[m.Name]
	next := &routing{name: m.Name + ".sources", choose: chosen(from)}
	ways := map[*record.Source][]core.PathStep{}
	var given []sample.Schema
	for i, f := range m.Of {
		of := builder{compiler: b.compiler, plan: b.plan, scope: b.scope}
		var err error
		if of.line, of.scope, err = b.compiler.line(b.plan, f, b.scope); err != nil {
			return err
		}
		of.alike(m, i)
		if of.line.clips > 0 { // those of other sources are not made into as many
			of.line.clips = 0
			next.known.uncounted = true
		}
		of.line.source = nil // it is a branch
		next.branches = append(next.branches, of.line)
		for _, s := range f.Sources() {
			ways[&b.sources[s].Source] = of.path
		}
		b.Columns, b.video = of.Columns, of.video
		given = append(given, of.Schema)
	}
	b.Schema = united(given)
	b.line.source = from
	b.line.steps = []step{{routing: next}}

	env := b.Env
	b.Memory, b.samples = nil, from.Expected()
	// A sample that is read again takes the way of its own source.
	b.path = []core.PathStep{{Do: func(ctx context.Context, it *record.Record) (*record.Record, error) {
		return env.Follow(ctx, it, ways[it.Source])
	}}}
	return nil
}

// chosen returns which part of a mix a sample is of, and counts it.
func chosen(from *source.Listing) func(context.Context, *record.Record) (int, error) {
	mixed, parts := from.Contents.(*source.Mixed), map[*record.Source]int{}
	for i, of := range mixed.Of {
		for _, leaf := range of.Leaves() {
			parts[&leaf.Source] = i
		}
	}
	return func(_ context.Context, it *record.Record) (int, error) {
		i := parts[it.Source]
		mixed.Came(i, 1)
		return i, nil
	}
}

// tag gives samples of the i-th line of a mix the name of their source.
func (b *builder) tag(m *fuse.Merge, named fuse.Part) {
	name := m.Mix.Source
	if recipe.IsBare(b.Schema) {
		return
	}
	b.reach(named)
	b.change(data.NewSource(b.Env, name, &b.Columns))
	if !slices.ContainsFunc(b.Schema, func(f sample.Field) bool { return f.Name == name }) {
		b.Schema = b.Schema.With(name, sample.TextType)
	}
}
