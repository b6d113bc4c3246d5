package fuse

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/order"
	"github.com/headrace/headrace/recipe"
	"github.com/headrace/headrace/sample"
	"github.com/headrace/headrace/tensor"
)

// Fuse returns what r comes to. The recipe must have passed its Check. The error names
// the first step that the engine cannot run in this way.
func Fuse(r recipe.Recipe) (Plan, error) { return plan(r, false) }

// Separate is Fuse, with each step a part of its own: what it does can be seen, and costs
// that its pixels are stored for the next. Steps from the first on that leaves what no
// step can go on with stay one part.
func Separate(r recipe.Recipe) (Plan, error) { return plan(r, true) }

func plan(r recipe.Recipe, separate bool) (Plan, error) {
	r = r.Complete()
	schemas, _ := r.Schemas()
	f := fuser{seed: r.Seed, separate: separate, schemas: schemas}
	c, err := f.chain(r.Steps, chain{})
	if err != nil {
		return Plan{}, err
	}
	switch {
	case c.flow.Source == nil && c.flow.Merge == nil && c.flow.Batches == nil:
		return Plan{}, &recipe.Error{Err: errors.New("is not complete: it needs a source such as files")}
	case f.plan.Last.Names == nil:
		f.plan.Single, f.plan.Schema, f.plan.Rows = true, c.schema, c.schema
		f.plan.Batch, f.plan.Last = recipe.Batches{Size: 1}, Part{Names: []string{Deliver}}
	}
	f.plan.Samples, f.plan.Lanes = c.flow, f.lanes
	return f.plan, nil
}

// fuser goes through the tree.
type fuser struct {
	seed     uint64
	separate bool            // steps join others only where they have to
	schemas  []sample.Schema // of what the steps give
	at       int             // the step at hand, as recipe.All counts
	plan     Plan            // but its Samples
	lanes    int             // that a step has asked for
}

// chain is as much of a chain as has been put together.
type chain struct {
	flow    Flow
	schema  sample.Schema
	modes   map[string]media.Mode // in which fields were decoded
	tied    []recipe.Tied         // boxes and points that go along with images
	batched bool                  // of batches
	joint   string                // the merge or route that it is after
	inside  bool                  // a chain of a merge or route
}

func (f *fuser) chain(steps []recipe.Step, c chain) (chain, error) {
	c.modes, c.tied = maps.Clone(c.modes), slices.Clip(c.tied)
	if c.modes == nil {
		c.modes = make(map[string]media.Mode)
	}
	for _, s := range steps {
		f.at++
		at := f.at
		if err := f.take(&c, s); err != nil {
			if known := (*recipe.Error)(nil); errors.As(err, &known) {
				return c, err
			}
			return c, &recipe.Error{Step: at, Name: s.Name, Err: err}
		}
		c.schema = f.schemas[at-1]
	}
	return c, nil
}

// take adds a step. What follows one that makes batches begins with these.
func (f *fuser) take(c *chain, s recipe.Step) error {
	if f.plan.Last.Names != nil {
		f.plan.Samples = c.flow
		before := f.plan
		f.plan, c.flow, c.batched, c.tied = Plan{}, Flow{Batches: &before}, true, nil
	}
	t, op := recipe.TraitsOf(s.Args), placeOf(s)
	switch {
	case t.Lanes > 0:
		f.lanes = t.Lanes
		return nil
	case t.Merging != nil:
		return f.merge(c, s, t)
	case t.Routing != nil:
		return f.route(c, s, t.Routing)
	case op == recipe.Source:
		c.flow.Source = &Source{Name: s.Name, Names: []string{s.Name}, Args: s.Args, Failures: s.Failures}
		return nil
	case op == recipe.Ordering:
		source := c.flow.Source
		source.Orders = append(source.Orders, Order{Name: s.Name, Args: s.Args, Seed: f.seedOf(t.Seed)})
		source.Names = append(source.Names, s.Name)
		return nil
	case t.Batches != nil && c.inside:
		c.begin(Part{Step: &s}, s)
		c.batched, c.tied = true, nil
		return nil
	case t.Batches != nil:
		f.plan.Batch = *t.Batches
		f.end(c, s)
		return nil
	case t.Tied != nil:
		c.tie(*t.Tied)
		return nil
	}

	switch args := s.Args.(type) {
	case recipe.Decoder:
		d := args.Decoding(c.schema)
		c.begin(Part{Images: &Images{Field: d.Field, To: d.To, Decoder: args, Decode: d.Options, Form: d.Form}}, s)
		if !d.Form.Moves() {
			c.modes[d.To] = d.Options.Mode
		}
	case recipe.Transform:
		return f.transform(c, s, args)
	case recipe.FieldStep:
		if tied := c.tiedTo(t.Copies); tied != nil {
			return fmt.Errorf("copies %q without its %[2]s: copy them too, before %[2]s, and add %[2]s for each copy",
				t.Copies, tied[0].Kind())
		}
		c.fields(args, s)
	default: // a function, five_crop, decode_npy, a step on columns, an operation from elsewhere
		if err := c.cutsTied(t); err != nil {
			return err
		}
		together := !f.separate && (!c.batched || t.Columns)
		if p := c.last(); together && p != nil && p.Step != nil {
			if chain := p.Chain(); Joins(chain[len(chain)-1], s) {
				p.Then, p.Names = append(p.Then, s), append(p.Names, s.Name)
				return nil
			}
		}
		c.begin(Part{Step: &s}, s)
	}
	return nil
}

// cutsTied returns an error if a step makes several images of one with which boxes or
// points go along.
func (c *chain) cutsTied(t recipe.Traits) error {
	if t.Cuts == nil {
		return nil
	}
	for _, image := range t.Cuts.Images(c.schema) {
		if tied := c.tiedTo(image); tied != nil {
			return fmt.Errorf("makes several images of %q, and its %[2]s can go along with one only: leave out %[2]s",
				image, tied[0].Kind())
		}
	}
	return nil
}

func placeOf(s recipe.Step) recipe.Place {
	op, _ := recipe.Find(s.Op)
	return op.Place
}

// transform adds a step on images.
func (f *fuser) transform(c *chain, s recipe.Step, args recipe.Transform) error {
	fields := args.Images(c.schema)
	if len(fields) == 0 {
		return errors.New("has no image to work on")
	}
	op := args.Transform()
	_, needs := op.(interface{ NeedsBoxes() })
	if needs && !slices.ContainsFunc(fields, c.hasBoxes) {
		return fmt.Errorf("needs the boxes of %s: put boxes before it", strings.Join(fields, ", "))
	}
	for i, field := range fields {
		p, err := f.goOn(c, s, field)
		if err != nil {
			return err
		}
		images := p.Images
		if tied := c.tiedTo(field); tied != nil && images.Along == nil {
			images.Along = &Along{tied, len(images.Steps)}
		}
		if len(fields) > 1 {
			images.Joint = append(images.Joint, Joint{len(images.Steps), fields})
		}
		if i > 0 && p.Names[0] == s.Name {
			p.Of = field
		}
		images.Steps = append(images.Steps, media.Step{Op: op, ID: order.OpID(s.Name)})
	}
	return nil
}

func (f *fuser) seedOf(own *uint64) uint64 {
	if own != nil {
		return *own
	}
	return f.seed
}

func (f *fuser) merge(c *chain, s recipe.Step, t recipe.Traits) error {
	args := t.Merging
	c.joint = s.Name
	m := &Merge{Name: s.Name, Order: args.Order, Seed: f.seedOf(t.Seed), Until: args.Until, Mix: args.Mix}
	c.flow.Merge = m
	if m.Mix != nil {
		m.Names = m.Mix.Names
	}
	for i, steps := range recipe.ChainsOf(s.Args) {
		if m.Mix != nil && m.Mix.Names == nil {
			m.Names = append(m.Names, steps[0].Name)
		}
		of, err := f.chain(steps, chain{inside: true})
		if err != nil {
			return err
		}
		c.batched = c.batched || of.batched
		m.Of = append(m.Of, of.flow)
		m.Keys = m.Keys || of.schema.Find("key") >= 0
		m.Fields = append(m.Fields, of.schema)
		if err := c.unite(i, of); err != nil {
			return err
		}
	}
	if args.Fill == nil {
		m.Fields = nil
		return nil
	}
	m.Fill = *args.Fill
	m.Fields = recipe.WithKeys(m.Fields)
	if m.Mix != nil && m.Mix.Source != "" {
		m.Fields = slices.Clone(m.Fields)
		for i, steps := range recipe.ChainsOf(s.Args) {
			m.Fields[i], _ = recipe.WithSource(m.Fields[i], m.Mix.Source, steps) // the recipe was checked
		}
	}
	m.Fields, _ = recipe.Filled(m.Fields, m.Fill)
	return nil
}

func (f *fuser) route(c *chain, s recipe.Step, args *recipe.Routing) error {
	r := &Route{Name: s.Name, By: args.By, Failures: s.Failures}
	begin := chain{schema: c.schema, modes: c.modes, tied: c.tied, batched: c.batched, joint: s.Name, inside: true}
	c.joint = s.Name
	for i, steps := range recipe.ChainsOf(s.Args) {
		branch, err := f.chain(steps, begin)
		if err != nil {
			return err
		}
		c.batched = c.batched || branch.batched
		r.Branches = append(r.Branches, Branch{When: args.Whens[i], Flow: branch.flow})
		if err := c.unite(i, branch); err != nil {
			return err
		}
	}
	c.flow.Nodes = append(c.flow.Nodes, Node{Route: r})
	return nil
}

// unite goes on after the i-th of several chains. What was decoded exactly in one of
// them is worked on exactly.
func (c *chain) unite(i int, other chain) error {
	if i == 0 {
		c.modes, c.tied = other.modes, other.tied
		return nil
	}
	if !sameTied(c.tied, other.tied) {
		kind := "boxes"
		if !sameTied(pointsOf(c.tied), pointsOf(other.tied)) {
			kind = "points"
		}
		return fmt.Errorf("has images whose %[1]s follow it in some branches only: add %[1]s in all of them, or after it", kind)
	}
	for field, mode := range other.modes {
		if c.modes[field] != mode {
			c.modes[field] = media.Exact
		}
	}
	return nil
}

func (c *chain) begin(p Part, s recipe.Step) {
	p.Names, p.Failures = []string{s.Name}, s.Failures
	c.flow.Nodes = append(c.flow.Nodes, Node{Part: &p})
}

// tie has boxes or points go along with their image. An image has one field of boxes, and
// any number of points.
func (c *chain) tie(t recipe.Tied) {
	replaced := func(b recipe.Tied) bool {
		return b.Image == t.Image && b.Points == t.Points && (!t.Points || b.Field == t.Field)
	}
	c.tied = append(slices.DeleteFunc(slices.Clone(c.tied), replaced), t)
}

// tiedTo returns what goes along with an image; nil: nothing does.
func (c *chain) tiedTo(image string) (all []recipe.Tied) {
	for _, t := range c.tied {
		if t.Image == image {
			all = append(all, t)
		}
	}
	return all
}

func (c *chain) hasBoxes(image string) bool {
	return slices.ContainsFunc(c.tiedTo(image), func(t recipe.Tied) bool { return !t.Points })
}

func sameTied(a, b []recipe.Tied) bool {
	return slices.EqualFunc(a, b, func(a, b recipe.Tied) bool { return reflect.DeepEqual(a, b) })
}

func pointsOf(all []recipe.Tied) (points []recipe.Tied) {
	for _, t := range all {
		if t.Points {
			points = append(points, t)
		}
	}
	return points
}

// last is the part that is being put together.
func (c *chain) last() *Part {
	if n := len(c.flow.Nodes); n > 0 {
		return c.flow.Nodes[n-1].Part
	}
	return nil
}

// end puts samples into batches: by the last part, where it can do that, or else by a
// part that does nothing else.
func (f *fuser) end(c *chain, s recipe.Step) {
	f.plan.Schema = c.schema
	f.plan.Rows, _ = s.Args.Check(c.schema) // the recipe was checked
	p := c.last()
	switch {
	case f.plan.Batch.Collate != nil, f.plan.Batch.Lists, f.plan.Batch.Own != nil, // which looks at what was made
		f.plan.Batch.MaxWait > 0, // which waits for it, and not for what is still being made
		len(f.plan.Batch.Ragged) > 0 && (p == nil || p.Images == nil): // of which a row has no place until it is there
		f.plan.Last = Part{Names: []string{s.Name}, Failures: s.Failures}
	case !f.separate && readsInto(&c.flow, &f.plan.Batch):
		source := c.flow.Source
		f.plan.Last = Part{Names: []string{source.Name, s.Name}, Reads: true, Failures: source.Failures}
	case p == nil || !fills(p, &f.plan.Batch) || f.separate && !c.unstorable(p):
		f.plan.Last = Part{Names: []string{s.Name}}
	case !f.separate && readBy(&c.flow, p):
		c.flow.Nodes = nil
		source := c.flow.Source
		read := recipe.Step{Op: "source", Name: source.Name, Args: source.Args}
		f.plan.Last = Part{Names: slices.Concat([]string{source.Name}, p.Names, []string{s.Name}),
			Step: &read, Then: p.Chain(), Reads: true}
	default:
		c.flow.Nodes = c.flow.Nodes[:len(c.flow.Nodes)-1]
		p.Names = append(p.Names, s.Name)
		f.plan.Last = *p
	}
}

// fills tells whether a part can write into the batch. Images and audio with a time limit
// cannot: when that is over, their operation may still be writing. The worker of a
// function of Python is ended before anybody goes on, so such a function can, where
// samples are stacked. So can audio of one length.
func fills(p *Part, batch *recipe.Batches) bool {
	if p.Images != nil { // how many boxes stay is known when the image is done
		return p.Images.Along == nil && (p.Failures == nil || p.Failures.TimeLimit == nil)
	}
	if p.Step == nil {
		return false
	}
	if p.Fills() {
		return batch.Stacks() && (p.Failures == nil || p.Failures.TimeLimit == nil)
	}
	for _, s := range p.Chain() {
		// a row that stays empty has to be filled by moving others
		call := recipe.TraitsOf(s.Args).Call
		if call == nil || call.Kind != recipe.MapCall || call.Order == recipe.CompletionOrder { // rows are given out in order
			return false
		}
	}
	return batch.Stacks()
}

// A sample is read straight into its batch from so many bytes on, or where no array of it
// has more than so many: many of those are read together. The reading of others stays a
// stage of its own, so that its time is distinguished: they are copied in no time.
const (
	largeSample = 64 << 10
	smallArray  = 4 << 10
)

// readsInto tells whether samples of an object are read into the batch that is after
// them: of one for which nothing else is known of a sample, such as its name, before it
// is there. Those of an object that is iterated over have a row when they are there.
func readsInto(f *Flow, batch *recipe.Batches) bool {
	object := f.Source.object()
	if object == nil || len(f.Nodes) > 0 || !batch.Stacks() || object.Named() {
		return false
	}
	gives := object.Gives.Schema
	size, small := int64(0), len(gives) > 0
	for _, field := range gives {
		if field.Type.Kind != sample.Tensor {
			small = small && field.Type.Kind == sample.Text && field.Type.Shape == nil
			continue
		}
		n, err := field.Type.Shape.Bytes(field.Type.DType)
		if err != nil || !field.Type.Fixed() {
			return false
		}
		size += n
		small = small && n <= smallArray
	}
	return size >= largeSample || small
}

// goOn joins a step on an image to the part that made it, or begins another one with the
// pixels that are stored. A step without failures of its own has those of the part that
// it joins: they are one operation.
func (f *fuser) goOn(c *chain, s recipe.Step, name string) (*Part, error) {
	form := recipe.ImageForm(c.schema[c.schema.Find(name)].Type)
	p := c.maker(name)
	if p != nil && p.Images.Along != nil && !reflect.DeepEqual(p.Images.Along.Tied, c.tiedTo(name)) && storable(form) {
		p = nil // which moves others
	}
	if p != nil && (s.Failures == nil || reflect.DeepEqual(s.Failures, p.Failures)) {
		if !f.separate || !storable(form) {
			p.Names = append(p.Names, s.Name)
			return p, nil
		}
		s.Failures = p.Failures
	}
	if !storable(form) {
		return nil, c.refuse(s, form, p)
	}
	c.begin(Part{Images: &Images{To: name, Decode: media.Options{Mode: c.modes[name], Color: form.Color,
		DType: form.DType}, Form: form}}, s)
	return c.last(), nil
}

// maker returns the part that has made an image, if nothing but steps on others comes
// after it.
func (c *chain) maker(name string) *Part {
	for _, n := range slices.Backward(c.flow.Nodes) {
		switch p := n.Part; {
		case p == nil || p.Images == nil || p.Images.Field == name:
			return nil
		case p.Images.To == name:
			return p
		}
	}
	return nil
}

// unstorable tells whether a part makes images that cannot be stored for another one.
func (c *chain) unstorable(p *Part) bool {
	if p.Images == nil {
		return false
	}
	i := c.schema.Find(p.Images.To)
	return !storable(recipe.ImageForm(c.schema[i].Type))
}

// refuse says why a step cannot go on with the image as it is.
func (c *chain) refuse(s recipe.Step, form media.Form, maker *Part) error {
	const only = "its image is %v there, and normalize and layout can only be followed by each other"
	p := c.last()
	switch {
	case maker != nil:
		return fmt.Errorf("has other failures than %q before it: "+only+", as one operation; give both the same",
			maker.Names[len(maker.Names)-1], form)
	case p != nil:
		return fmt.Errorf("cannot follow %q: "+only+"; put %q before them, or after %q", p.Name(), form, p.Name(), s.Name)
	default:
		return fmt.Errorf("cannot follow %q: "+only+"; put %q before it, in each of its branches", c.joint, form, s.Name)
	}
}

// storable tells whether steps can go on with an image or clip that was stored: with
// whole numbers, a pixel's side by side.
func storable(f media.Form) bool {
	return f.Layout == media.HWC && (f.DType == tensor.Uint8 || f.DType == tensor.Uint16)
}
