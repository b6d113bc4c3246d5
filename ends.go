package headrace

import (
	"slices"

	"headrace/group"
	elements "headrace/internal/numbers"
	"headrace/internal/record"
	"headrace/recipe"
	"headrace/recipe/fuse"
	"headrace/sample"
)

// group appends the stage that measures samples before they are grouped, and makes the steps on an image that come behind.
func (c *compiler) group(n *line, e *ending, plan fuse.Plan) {
	t := &c.trail
	p := plan.Last
	g := &grouping{work: c.work, layout: c.layout}
	for _, f := range t.schema.Ragged() {
		g.sequences = append(g.sequences, t.places.Of[f.Name])
	}
	what := "measure "
	switch {
	case plan.Pack != nil:
		g.equal, g.limit, g.overlong = true, plan.Pack.Length, overlongs[plan.Pack.Overlong]
	case plan.Buckets != nil:
		g.limit, g.overlong = slices.Max(plan.Buckets.Lengths), overlongs[plan.Buckets.Overlong]
	default:
		g.image = imageIn(plan.Schema)
		g.picture = t.places.Of[plan.Schema[g.image].Name]
	}
	before := t.leg
	if p.Images != nil {
		c.beginLeg()
		if p.Images.Field != "" {
			what = "probe "
		}
		e.images = c.images(p)
		e.images.Last = true
		if plan.Buckets == nil {
			g.images, g.picture = e.images, e.images.To
		}
		if plan.Buckets == nil {
			t.leg.Probe = record.Column{} // what measures looks at it
		}
		t.leg.Parts = append(t.leg.Parts, e.images)
		g.leg, g.lane = t.leg, c.lane
	}
	t.leg = before
	c.drops = g.overlong == group.Drop
	c.push(n, &stage{name: what + p.Names[0]}, p.Failures, g.measure, func(*record.Record) {})
	e.grouping = g
}

var overlongs = map[string]group.Overlong{"error": group.Fail, "truncate": group.Truncate, "drop": group.Drop}

// padded makes the cell of a sequence.
func (c *compiler) padded(i int, at record.Column, pad recipe.PadValue) cell {
	f := c.layout.fields[i]
	size, _ := f.Shape[1:].Bytes(f.DType)
	return cell{
		field: i, place: at, bytes: int(size), length: c.field(f.Name + "_length"), pad: elements.Append(nil, f.DType, pad.Of(f.Name)),
	}
}

// field is the number of a field in a batch.
func (c *compiler) field(name string) int {
	return slices.IndexFunc(c.layout.fields, func(f Field) bool { return f.Name == name })
}

// tracks are the fields of packed rows.
func (c *compiler) tracks(p recipe.Pack) (all []track) {
	text := 0
	for i, f := range c.layout.fields {
		t := track{field: i, place: c.trail.places.Of[f.Name]}
		switch {
		case t.place.Kind == 0: // made of another
			continue
		case t.place.Kind == record.Texts:
			t.text = text
			text++
		default:
			size, _ := f.Shape[1:].Bytes(f.DType)
			t.bytes, t.pad = int(size), elements.Append(nil, f.DType, p.Pad.Of(f.Name))
			if c.trail.schema[c.trail.schema.Find(f.Name)].Type.Ragged() {
				t.segments, t.positions = c.field(f.Name+recipe.SegmentIDs), c.field(f.Name+recipe.Positions)
			}
		}
		all = append(all, t)
	}
	return all
}

func imageIn(s sample.Schema) int {
	return slices.IndexFunc(s, func(f sample.Field) bool { return f.Type.Axes != "" })
}
