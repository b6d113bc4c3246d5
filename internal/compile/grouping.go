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
	for _, f := range t.schema.Ragged() {
		g.Sequences = append(g.Sequences, t.columns.Of[f.Name])
	}

	what := "measure "
	switch {
	case plan.Pack != nil:
		g.Equal, g.Limit, g.Overlong = true, plan.Pack.Length, overlongs[plan.Pack.Overlong]
	case plan.Buckets != nil:
		g.Limit, g.Overlong = slices.Max(plan.Buckets.Lengths), overlongs[plan.Buckets.Overlong]
	case plan.Batch.Lists:
		g.Class = func(context.Context, *record.Record) (int, error) { return 0, nil }
	case plan.Own != nil:
		if g.Class, err = plan.Own.(ops.Classifier).Classify(c.work, p.Name(), t.schema, &t.columns); err != nil {
			return err
		}
	default:
		g.Image = imageIn(plan.Schema)
		g.Picture = t.columns.Of[plan.Schema[g.Image].Name]
	}

	before := t.memory
	if p.Images != nil {
		c.beginLeg()
		if p.Images.Field != "" {
			what = "probe "
		}
		images := c.images(p)
		images.Last = true
		if plan.Buckets == nil {
			g.Images, g.Picture = images, images.To
			t.memory.Probe = record.Column{} // what measures looks at it
		}
		c.last(e, images)
		g.Scope, g.Lane = t.memory, c.lane
	}

	t.memory = before
	c.drops = c.drops || g.Overlong == group.Drop
	c.push(n, &stage{name: what + p.Names[0]}, p.Failures, g.Measure, func(*record.Record) {})
	e.Grouping = g
	return nil
}

var overlongs = map[string]group.Overlong{"error": group.Fail, "truncate": group.Truncate, "drop": group.Drop}
