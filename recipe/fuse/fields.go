package fuse

import (
	"slices"

	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/recipe"
	"github.com/headrace/headrace/sample"
)

// fields adds a step that changes fields. Before steps on an image it does the same as
// after them, unless it is about what they read or make: there it does not part them.
func (c *chain) fields(args recipe.FieldStep, s recipe.Step) {
	old, names := args.Kept(c.schema)
	c.tied = renamed(c.tied, old, names)
	if p := c.last(); p != nil && p.Images != nil && p.Images.Along == nil {
		if earlier, ok := before(p.Images, c.schema, old, names); ok {
			p.Names = append(p.Names, s.Name)
			at := len(c.flow.Nodes) - 1
			node := Node{Part: &Part{Step: &recipe.Step{Op: s.Op, Name: s.Name, Args: earlier}}}
			c.flow.Nodes = slices.Insert(c.flow.Nodes, at, node)
			return
		}
	}

	modes := map[string]media.Mode{}
	for i, name := range old {
		if mode, ok := c.modes[name]; ok {
			modes[names[i]] = mode
		}
	}
	c.modes = modes
	c.begin(Part{Step: &s}, s)
}

// renamed are boxes and points by the names that fields have then. They go along no more
// where they or their image are gone.
func renamed(tied []recipe.Tied, old, names []string) (all []recipe.Tied) {
	now := func(name string) (string, bool) {
		i := slices.Index(old, name)
		if i < 0 {
			return "", false
		}
		return names[i], true
	}
	for _, b := range tied {
		field, there := now(b.Field)
		image, shown := now(b.Image)
		if !there || !shown {
			continue
		}
		other := b
		other.Field, other.Image, other.Along = field, image, nil
		for _, name := range b.Along {
			if name, ok := now(name); ok {
				other.Along = append(other.Along, name)
			}
		}
		all = append(all, other)
	}
	return all
}

// before is a step as it is before steps on an image, after which samples have this
// schema. It is not ok where it is about what they read or make.
func before(p *Images, in sample.Schema, old, names []string) (*changed, bool) {
	if p.Decoder != nil && p.Decoder.Decoding(in).Besides {
		return nil, false
	}
	e := &changed{names: map[string]string{}}
	for _, name := range in.Names() {
		e.names[name] = ""
	}
	for i, name := range old {
		if e.names[name] != "" {
			return nil, false // it gets several names
		}
		e.names[name] = names[i]
		if name != p.To && (names[i] == p.To || names[i] == p.Field) {
			return nil, false
		}
	}
	return e, e.names[p.To] == p.To
}

// changed are fields of which it is said what becomes of them; all others stay.
type changed struct {
	names map[string]string // "": it goes
}

// Kept implements recipe.FieldStep.
func (e *changed) Kept(in sample.Schema) (before, after []string) {
	for _, name := range in.Names() {
		to, said := e.names[name]
		switch {
		case !said:
			to = name
		case to == "":
			continue
		}
		before, after = append(before, name), append(after, to)
	}
	return before, after
}

// Check implements recipe.Args.
func (e *changed) Check(in sample.Schema) (sample.Schema, error) {
	before, after := e.Kept(in)
	out := make(sample.Schema, len(before))
	for i, name := range before {
		out[i] = sample.Field{Name: after[i], Type: in[in.Find(name)].Type}
	}
	return out, nil
}
