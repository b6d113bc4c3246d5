package headrace

import (
	"context"
	"fmt"
	"slices"

	"headrace/media"
	"headrace/pipe"
	"headrace/recipe"
	"headrace/recipe/fuse"
	"headrace/sample"
)

// checkPrograms finds steps that are registered without code: those of recipe.Register alone.
func checkPrograms(r recipe.Recipe, p fuse.Plan) error {
	for _, part := range p.Parts {
		if part.Step == nil {
			continue
		}
		if _, ok := part.Step.Args.(program); !ok {
			i := slices.IndexFunc(r.Steps, func(s recipe.Step) bool { return s.Name == part.Step.Name })
			return &recipe.Error{Step: i + 1, Name: part.Step.Name, Err: fmt.Errorf("is %s, for which the engine has no code: headrace.Register brings it", part.Step.Op)}
		}
	}
	return nil
}

// compile makes a typed pipeline of a plan: positions become files, files become samples, and every part of the plan is a stage, of which the last
// writes into batches.
func (l *Loader) compile(p fuse.Plan) (pipe.Flow[*Batch], error) {
	if l.config.Fuse != nil && !*l.config.Fuse {
		var err error
		if p, err = p.Split(); err != nil {
			return pipe.Flow[*Batch]{}, err
		}
	}
	c := compiler{work: &l.work, schema: filesSchema(p)}
	c.begin()
	last := len(p.Parts) - 1
	for _, part := range p.Parts[:last] {
		if err := c.add(part); err != nil {
			return pipe.Flow[*Batch]{}, err
		}
	}
	end := c.end(p.Parts[last])
	l.work.room = c.places.room
	if l.programs = c.programs; c.relabels {
		l.info.Classes = nil // other labels than those of the source
	}
	return l.join(p, c.stages, end), nil
}

func filesSchema(p fuse.Plan) sample.Schema {
	s, _ := p.Files.Check(nil)
	return s
}

// compiler goes along the parts of a plan.
type compiler struct {
	work     *work
	schema   sample.Schema // of samples behind what was added last
	places   places
	leg      *leg
	stages   []stage
	programs bool
	relabels bool
}

// stage is one between reading and filling.
type stage struct {
	name  string
	steps []string
	op    func(context.Context, *item) (*item, error)
	waits bool // for bytes, and works on nothing
}

// begin gives places to what files have.
func (c *compiler) begin() {
	for _, f := range c.schema {
		c.places.put(f.Name, f.Type)
	}
	c.work.source = sourcePlaces{bytes: c.places.of["bytes"], label: c.places.of["label"], key: c.places.of["key"]}
	c.beginLeg()
	c.work.first = c.leg
}

func (c *compiler) beginLeg() {
	c.leg = &leg{work: c.work}
	c.places.fresh = nil
}

// add appends a part whose result is stored.
func (c *compiler) add(p fuse.Part) (err error) {
	var next part
	if p.Step != nil {
		next, err = c.program(*p.Step)
	} else {
		next = c.images(p)
	}
	if err != nil {
		return err
	}
	c.leg.parts = append(c.leg.parts, next)
	c.stages = append(c.stages, stage{name: p.Name(), steps: p.Names, op: c.work.stage(next)})
	return nil
}

// program makes a part of a step that brings its code.
func (c *compiler) program(s recipe.Step) (next part, err error) {
	next, c.schema, err = s.Args.(program).link(c.work, s.Name, c.schema, &c.places)
	c.programs = true
	c.relabels = c.relabels || slices.Contains(c.places.fresh, "label")
	return next, err
}

// images makes a part of steps on an image.
func (c *compiler) images(p fuse.Part) *images {
	next := &images{work: c.work, what: p.Images}
	if field := p.Images.Field; field != "" {
		if c.leg.probe.in == data || slices.Contains(c.places.fresh, field) {
			c.beginLeg()
			c.stages = append(c.stages, stage{name: "probe " + p.Names[0], op: c.leg.wait, waits: true})
		}
		next.bytes = c.places.take(field)
		c.leg.probe = next.bytes
		c.schema = c.schema.Without(field)
	}
	form, _ := media.Results(p.Images.Form, p.Images.Steps) // checked with the recipe
	t := recipe.ImageType(form)
	next.image = c.places.put(p.Images.To, t)
	c.schema = c.schema.With(p.Images.To, t)
	return next
}

// end makes what fills batches of the last part.
func (c *compiler) end(p fuse.Part) *ending {
	e := &ending{work: c.work, image: -1}
	if p.Images != nil {
		e.images = c.images(p)
		e.images.last = true
		c.leg.parts = append(c.leg.parts, e.images)
	}
	text := 0
	for i, f := range c.work.layout.fields {
		at := c.places.of[f.Name]
		switch {
		case e.images != nil && at == e.images.image:
			e.image = i
		case at.in == texts:
			e.cells = append(e.cells, cell{field: i, text: text, place: at})
			text++
		default:
			e.cells = append(e.cells, cell{field: i, place: at})
		}
	}
	return e
}

// join makes a flow of the stages.
func (l *Loader) join(p fuse.Plan, stages []stage, end *ending) pipe.Flow[*Batch] {
	last := p.Parts[len(p.Parts)-1]
	// Bytes are given to the oldest sample first. It must be able to ask for them, so nobody overtakes before the last stage that waits for some.
	waits := slices.ContainsFunc(stages, func(s stage) bool { return s.waits })
	opts := func(name string, workers int) pipe.Opts {
		return pipe.Opts{Name: name, Workers: workers, Ordered: waits || l.config.Order == InputOrder}
	}

	source := l.sources[0]
	l.note(source.name, 1, p.Sources)
	items := pipe.From(source.name, source)
	l.note("read", l.readers(), nil)
	o := opts("read", l.readers())
	o.Buffer = l.readers()
	flow := pipe.Discard(pipe.Map(items, l.work.read, o), l.work.drop)
	for i, s := range stages {
		workers := l.info.Workers
		if s.waits {
			workers = l.readers()
			waits = slices.ContainsFunc(stages[i+1:], func(s stage) bool { return s.waits })
		}
		l.note(s.name, workers, s.steps)
		o := opts(s.name, workers)
		if !s.waits {
			o.Gate = l.gate.gate
		}
		flow = pipe.Discard(pipe.Map(flow, s.op, o), l.work.drop)
	}
	l.note(last.Name(), l.info.Workers, last.Names)
	return pipe.Fill(flow, l.layout.rows, l.slots, end.fill, pipe.FillOpts{
		Name: last.Name(), Workers: l.info.Workers, Buffer: l.config.Prefetch, Ordered: l.config.Order == InputOrder, DropLast: p.Batch.DropLast, Gate: l.gate.gate,
	})
}

// note tells people of a stage.
func (l *Loader) note(name string, workers int, steps []string) {
	l.info.Stages = append(l.info.Stages, Stage{Name: name, Steps: append([]string{}, steps...), Workers: workers})
}
