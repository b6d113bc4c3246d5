package compile

import (
	"context"
	"slices"

	"github.com/headrace/headrace/group"
	"github.com/headrace/headrace/internal/batch"
	"github.com/headrace/headrace/internal/record"
	"github.com/headrace/headrace/op/core"
	"github.com/headrace/headrace/op/custom"
)

// group appends the stage that measures samples before they are grouped, and makes the
// steps on an image that come after.
func (b *builder) group(e *batch.Writer) (known facts, err error) {
	plan, p := b.plan, b.plan.Last
	g, err := b.grouping()
	if err != nil {
		return known, err
	}
	if pack := plan.Batch.Pack; pack != nil && (pack.Cuts() || pack.Overlong == "split") {
		g.Cut = b.cutter(g)
		if pack.Overlong == "split" {
			b.split(p.Names[0], g.Cut)
		}
		if pack.Cuts() {
			known.cuts = p.Names[len(p.Names)-1]
			known.gathers = []string{"group " + known.cuts}
		}
	}

	what, before := "measure ", b.Memory
	if p.Images != nil {
		b.leg()
		if p.Images.Field != "" {
			what = "probe "
		}
		images := b.images(p)
		images.Last = true
		if plan.Batch.Buckets == nil {
			g.Images, g.Picture = images, images.To
			b.Memory.Probe = record.Column{} // what measures looks at it
		}
		b.last(e, images)
		g.Scope, g.Lane = b.Memory, b.Lane
	}
	// A sample that waits for others holds no bytes: those to decode it are reserved when
	// its batch is on its way.
	b.Memory = before

	known.drops = g.Overlong == group.Drop
	lengths := g.Class == nil && g.Picture.Kind == 0
	b.push(&stage{name: what + p.Names[0], brief: lengths}, p.Failures, g.Measure, func(*record.Record) {})
	e.Grouping = g
	return known, nil
}

// measured appends the stage that measures samples of which a function makes batches.
func (b *builder) measured() (*batch.Grouping, error) {
	g, err := b.grouping()
	if err != nil {
		return nil, err
	}
	s := &stage{name: "measure " + b.plan.Last.Name(), brief: g.Class == nil, known: facts{drops: g.Overlong == group.Drop}}
	b.push(s, nil, g.Measure, func(*record.Record) {}) // failures of the step are those of its function
	return g, nil
}

// grouping says what samples are grouped by.
func (b *builder) grouping() (*batch.Grouping, error) {
	g := &batch.Grouping{Env: b.Env, Layout: b.section().Layout, By: -1}
	for _, f := range b.Schema.Ragged() {
		g.Sequences = append(g.Sequences, batch.Sequence{Name: f.Name, Place: b.Columns.Of[f.Name]})
	}
	return g, b.measure(g)
}

// measure says what samples are grouped by.
func (b *builder) measure(g *batch.Grouping) (err error) {
	switch by := b.plan.Batch; {
	case by.Pack != nil:
		g.Overlong = overlongs[by.Pack.Overlong]
		if g.Equal, g.Limit = by.Pack.Lengths.Fields == nil, by.Pack.Lengths.All; !g.Equal {
			g.Limits = by.Pack.Rows(b.Schema)
		}
		if by.Pack.Domain != "" {
			g.Domain = batch.DomainAt(b.Columns.Of[by.Pack.Domain])
		}
	case by.Buckets != nil:
		g.Limit, g.Overlong = slices.Max(by.Buckets.Lengths), overlongs[by.Buckets.Overlong]
		if by.Buckets.By != "" {
			g.By = b.Schema.Ragged().Find(by.Buckets.By)
			g.Open = len(by.Buckets.Lengths) > 1 || by.Buckets.Longest
		}
	case by.Lists:
		g.Class = func(context.Context, *record.Record) (int, error) { return 0, nil }
	case by.Own != nil:
		g.Class, err = by.Own.(custom.Classifier).Classify(b.Env, b.plan.Last.Name(), b.Schema, &b.Columns)
	default:
		g.Image = imageIn(b.plan.Schema)
		g.Picture = b.Columns.Of[b.plan.Schema[g.Image].Name]
	}
	return err
}

// overlongs of samples that are measured; none is overlong of which parts were made.
var overlongs = map[string]group.Overlong{"error": group.Fail, "truncate": group.Truncate, "drop": group.Drop, "split": group.Fail}

// cutter makes parts of samples.
func (b *builder) cutter(g *batch.Grouping) *batch.Cutter {
	c := &batch.Cutter{Env: b.Env, Sequences: g.Sequences, Limit: g.Limit}
	for _, f := range b.Schema {
		if !f.Type.Ragged() {
			c.Others = append(c.Others, b.Columns.Of[f.Name])
		}
	}
	return c
}

// split appends the stage that makes several samples of one that is longer than a row.
func (b *builder) split(step string, c *batch.Cutter) {
	h := b.Policies.Of(nil, b.samples)
	s := &stage{name: "split " + step, expand: c.Expand, asks: true, losses: h.Policy, known: facts{makes: true, uncounted: true}}
	if !h.Replaces { // it leaves what is wrong to the next, which replaces
		s.known = s.known.with(handles(s.name, h))
	}
	b.append(s)
	b.path = append(slices.Clip(b.path), core.PathStep{Do: c.Again})
}
