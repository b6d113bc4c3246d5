package compile

import (
	"context"
	"slices"

	"headrace/group"
	"headrace/internal/batch"
	"headrace/internal/ops"
	"headrace/internal/record"
	"headrace/recipe/fuse"
)

// group appends the stage that measures samples before they are grouped, and makes the
// steps on an image that come after.
func (c *compiler) group(n *line, e *batch.Writer, plan fuse.Plan) (err error) {
	t := &c.scope
	p := plan.Last
	g := &batch.Grouping{Env: c.work, Layout: c.layout}
	for _, f := range t.Schema.Ragged() {
		g.Sequences = append(g.Sequences, t.Columns.Of[f.Name])
	}

	what := "measure "
	switch {
	case plan.Batch.Pack != nil:
		g.Equal, g.Limit, g.Overlong = true, plan.Batch.Pack.Length, overlongs[plan.Batch.Pack.Overlong]
	case plan.Batch.Buckets != nil:
		g.Limit, g.Overlong = slices.Max(plan.Batch.Buckets.Lengths), overlongs[plan.Batch.Buckets.Overlong]
	case plan.Batch.Lists:
		g.Class = func(context.Context, *record.Record) (int, error) { return 0, nil }
	case plan.Batch.Own != nil:
		if g.Class, err = plan.Batch.Own.(ops.Classifier).Classify(c.work, p.Name(), t.Schema, &t.Columns); err != nil {
			return err
		}
	default:
		g.Image = imageIn(plan.Schema)
		g.Picture = t.Columns.Of[plan.Schema[g.Image].Name]
	}

	before := t.Memory
	if p.Images != nil {
		c.beginLeg()
		if p.Images.Field != "" {
			what = "probe "
		}
		images := c.images(p)
		images.Last = true
		if plan.Batch.Buckets == nil {
			g.Images, g.Picture = images, images.To
			t.Memory.Probe = record.Column{} // what measures looks at it
		}
		c.last(e, images)
		g.Scope, g.Lane = t.Memory, c.lane
	}

	t.Memory = before
	c.drops = c.drops || g.Overlong == group.Drop
	c.push(n, &stage{name: what + p.Names[0]}, p.Failures, g.Measure, func(*record.Record) {})
	e.Grouping = g
	return nil
}

var overlongs = map[string]group.Overlong{"error": group.Fail, "truncate": group.Truncate, "drop": group.Drop}
