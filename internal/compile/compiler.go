package compile

import (
	"context"
	"fmt"
	"iter"
	"slices"

	"headrace/budget"
	"headrace/internal/batch"
	"headrace/internal/ops"
	"headrace/internal/record"
	"headrace/internal/source"
	"headrace/pipe"
	"headrace/recipe"
	"headrace/recipe/fuse"
	"headrace/sample"
)

// CheckCode finds steps that are registered without code: those of recipe.Register alone.
func CheckCode(r recipe.Recipe, p fuse.Plan) error {
	for _, part := range p.Parts() {
		if part.Step == nil {
			continue
		}
		if ops.HasCode(part.Step.Args) {
			continue
		}
		for n, s := range r.All() {
			if s.Name == part.Step.Name {
				return &recipe.Error{Step: n, Name: s.Name, Err: fmt.Errorf("is %s, for which the engine has no code: headrace.Register brings it", s.Op)}
			}
		}
	}
	if _, ok := p.Batch.Own.(ops.Classifier); p.Batch.Own != nil && !ok {
		return fmt.Errorf("recipe: step %q: the engine has no code for it: headrace.RegisterBatching brings it", p.Last.Names[0])
	}
	return nil
}

// line is a flow as stages: from a source, or from several lines that are merged, or from
// batches, or, in a branch, from none of these.
type line struct {
	source  *source.Listing
	merge   *fuse.Merge
	most    int64 // samples of an epoch of the merge; 0: all
	of      []*line
	batches *section
	opening *batch.Opening
	steps   []step
	clips   int64 // that are made of each sample of the source or of the batches; 0: it stays one
}

// section is a plan: a line, and what puts its samples into batches.
type section struct {
	Section
	plan fuse.Plan
	line *line
	end  *batch.Writer
}

// step is a stage or a routing.
type step struct {
	stage   *stage
	routing *routing
}

// stage is one between sources and batches.
type stage struct {
	name    string
	steps   []string // of the recipe
	op      ops.Guarded
	waits   bool // for bytes, and works on nothing
	asks    bool // for bytes, though perhaps only where a sample fails
	buffers bool // as many results are kept ready as it has workers
	losses  *pipe.Policy
	python  *ops.Function // whose workers work; nil: the engine's own
	expand  expander      // makes several samples of one; nil: op makes one

	aggregate *ops.Aggregate // that makes samples of several; nil: it does not
	unbatches bool           // it takes batches apart

	fields *[]*ops.FieldChange // what becomes of fields when op is done; it grows until the next stage
}

type expander func(context.Context, *record.Record) iter.Seq2[*record.Record, error]

// routing divides samples among branches.
type routing struct {
	name     string
	steps    []string
	choose   func(context.Context, *record.Record) (int, error)
	branches []*line
	losses   *pipe.Policy
}

// asks tells whether stages of the line may have to wait for bytes. They are given to the
// oldest sample first, which must be able to ask for them.
func (n *line) asks() bool { return slices.ContainsFunc(n.steps, step.asks) }

func (s step) unbatches() bool { return s.stage != nil && s.stage.unbatches }

func (s step) asks() bool {
	if s.stage != nil {
		return s.stage.asks
	}
	return slices.ContainsFunc(s.routing.branches, (*line).asks)
}

// compiler makes lines of a plan.
type compiler struct {
	work      *ops.Env
	sections  []Section     // those that have no line yet
	layout    *batch.Layout // of the section at hand
	lane      *budget.Lane  // of samples whose batch is on its way
	failing   ops.Policies
	sources   []*source.Listing // those that have no line yet
	share     func(int64) int64 // how many of a number of samples are this rank's
	library   bool              // decodes images
	scope     scope
	spending  map[string]int  // how many samples may be replaced in stages that have a limit of their own
	skipping  map[string]bool // by stage, whether it skips
	judges    map[string]bool // stages that skip, and have a limit of their own
	groups    bool            // of the section at hand: samples come into batches by what they are
	rows      int             // likewise: of a full batch, or samples
	most      int             // of the section at hand: samples that a sampler's list may have; 0: any number
	reads     bool            // likewise: its source is read where batches are filled
	chains    bool            // by a chain of functions
	reader    *ops.Function   // by this
	uneven    bool            // batches are made of batches, or taken apart
	drops     bool            // some samples may be left out
	makes     bool            // and others may be made into several
	uncounted bool            // nobody knows before how many samples are left out, or made
	gathers   []string        // stages that make samples of several
	programs  bool
	relabels  bool
}

// scope is what is known at a place of a line.
type scope struct {
	ops.Scope
	video   *ops.Video     // that the next part decodes
	path    []ops.PathStep // how samples get there, from their beginning or from the last routing around
	samples int64          // in an epoch of this rank, at most
}

// section goes along a plan.
func (c *compiler) section(p fuse.Plan) (s *section, err error) {
	s = &section{plan: p}
	c.reads, c.chains = p.Last.Reads, p.Last.Step != nil
	if c.most = 0; p.Batch.Lists && p.Batch.Collate == nil {
		c.most = p.Batch.Size
	}
	if s.line, err = c.line(p.Samples); err != nil {
		return nil, err
	}
	s.Section, c.sections = c.sections[0], c.sections[1:]
	c.layout, c.groups, c.rows = s.Layout, s.Groups, s.Rows
	c.uneven = c.uneven || s.line.batches != nil && !p.Single
	s.end, err = c.end(s.line, p)
	return s, err
}

// line goes along a flow.
func (c *compiler) line(f fuse.Flow) (n *line, err error) {
	n = new(line)
	switch {
	case f.Source != nil:
		n.source, c.sources = c.sources[0], c.sources[1:]
		err = c.begin(n, f.Source)
	case f.Merge != nil:
		err = c.merge(n, f.Merge)
	case f.Batches != nil:
		err = c.open(n, *f.Batches)
	}
	for _, next := range f.Nodes {
		switch {
		case err != nil:
			return nil, err
		case next.Part != nil:
			err = c.add(n, *next.Part)
		default:
			err = c.route(n, next.Route)
		}
	}
	return n, err
}

// begin gives places to what samples of a source have, and reads them.
func (c *compiler) begin(n *line, s *fuse.Source) error {
	t := &c.scope
	t.Schema = s.Schema()
	t.Columns.Of = map[string]record.Column{}
	for _, f := range t.Schema {
		t.Columns.PutAny(f.Name, f.Type)
	}
	source := n.source
	if t.samples = source.Expected(); source.Iterated() {
		t.samples = 0
	}
	c.beginLeg()
	source.Scope = t.Memory
	read := &stage{name: "read", waits: true, asks: true, buffers: true}
	switch {
	case c.failing.Sources > 1:
		read.name = "read " + source.Name
	case source.Name == read.name: // as the operation is called
		read.name = "read samples"
	}
	var err error
	if c.reads && c.chains {
		return source.LinkOrder(c.work)
	}
	if source.Lists() {
		n.steps = append(n.steps, step{stage: &stage{name: "deal " + source.Name, steps: source.Names, expand: source.Deal(c.work, c.most)}})
		c.drops, c.makes = true, true // a place is a list, and samples are made of it
	}
	if read.python, err = source.Link(c.work, s, t.Schema, &t.Columns); err != nil {
		return err
	}
	if c.reads {
		if c.reader = read.python; source.Iterated() {
			c.reader = source.Stream()
		}
		return nil
	}
	c.push(n, read, s.Failures, source.Read(c.work), c.work.Drop)
	return nil
}

// open begins with the batches that a plan makes. None can be made again alone.
func (c *compiler) open(n *line, p fuse.Plan) (err error) {
	if n.batches, err = c.section(p); err != nil {
		return err
	}
	t := &c.scope
	for name := range t.Columns.Of {
		t.Columns.Take(name)
	}
	t.Schema = n.batches.Layout.Schema()
	n.opening = &batch.Opening{Env: c.work}
	for _, f := range t.Schema {
		n.opening.Columns = append(n.opening.Columns, t.Columns.PutAny(f.Name, f.Type))
	}
	t.samples, _ = n.batches.epoch()
	t.Columns.Rows = !n.batches.Layout.Whole
	t.Memory, t.path = nil, []ops.PathStep{{Do: c.work.Lose}}
	return nil
}

// unbatch appends the stage that takes batches apart. Bytes are reserved again after it.
func (c *compiler) unbatch(n *line, p fuse.Part) error {
	t := &c.scope
	out, err := p.Step.Args.Check(t.Schema)
	if err != nil {
		return err
	}
	next := &batch.Rows{Env: c.work}
	for _, f := range t.Schema {
		next.In = append(next.In, ops.Field{Name: f.Name, Type: f.Type, Column: t.Columns.Take(f.Name)})
	}
	for _, f := range out {
		next.Out = append(next.Out, t.Columns.PutAny(f.Name, f.Type))
	}
	t.Schema, t.Columns.Rows, c.uneven = out, false, true
	if n.batches != nil {
		t.samples, _ = n.batches.taken()
		c.makes = c.makes || n.batches.Layout.Whole // of as many rows as the function likes
		c.uncounted = c.uncounted || n.batches.Layout.Whole
	}

	h := c.failing.Of(p.Failures, t.samples)
	s := &stage{name: p.Name(), steps: p.Names, expand: next.Expand, unbatches: true, asks: true, losses: h.Policy}
	c.limit(s.name, h)
	n.steps = append(n.steps, step{stage: s})
	t.Memory, t.path = nil, []ops.PathStep{{Do: c.work.Lose}}
	return nil
}

func (c *compiler) beginLeg() {
	c.scope.Memory = &ops.MemoryScope{Env: c.work}
	c.scope.Columns.Fresh = nil
}

// push appends a stage. Undo makes a sample as it was before its operation has failed.
func (c *compiler) push(n *line, s *stage, f *recipe.Failures, do ops.Op, undo func(*record.Record)) {
	t := &c.scope
	s.fields = new([]*ops.FieldChange)
	do = thenFields(do, s.fields)
	h := c.failing.Of(f, t.samples)
	if s.python != nil {
		h.Limit = 0 // they end a worker that takes longer
	}
	s.losses = h.Policy
	c.limit(s.name, h)
	s.asks = s.asks || h.Replaces || h.Retries > 0 && h.Limit > 0
	a := c.work.Guard(do, h, t.path, undo)
	s.op = a
	if h.Replaces {
		s.op = c.work.Replacing(a, s.name, t.path)
	}
	s.op = ops.Named(s.op)
	t.path = append(slices.Clip(t.path), ops.PathStep{Do: a, Waits: s.waits || s.python != nil})
	n.steps = append(n.steps, step{stage: s})
}

// thenFields is an operation with changes of fields after it. They cost less than the
// way to another stage.
func thenFields(do ops.Op, fields *[]*ops.FieldChange) ops.Op {
	return func(ctx context.Context, it *record.Record) error {
		if err := do(ctx, it); err != nil {
			return err
		}
		for _, f := range *fields {
			if err := f.Run(ctx, it, nil); err != nil {
				return err
			}
		}
		return nil
	}
}

// fields adds a step that changes fields to the stage before it.
func (c *compiler) fields(n *line, p fuse.Part, args recipe.FieldStep) {
	c.reach(n, p)
	t := &c.scope
	had := t.Schema.Find("label") >= 0
	var next *ops.FieldChange
	next, t.Schema = ops.NewFieldChange(c.work, args, t.Schema, &t.Columns)
	c.relabels = c.relabels || had && t.Schema.Find("label") < 0
	s := c.change(n, next)
	s.steps = append(slices.Clip(s.steps), p.Names...)
}

// change has fields changed after the last stage of a line, for which bytes are
// reserved.
func (c *compiler) change(n *line, next *ops.FieldChange) *stage {
	c.scope.Memory.Parts = append(c.scope.Memory.Parts, next)
	s := n.steps[len(n.steps)-1].stage
	*s.fields = append(*s.fields, next)
	return s
}

// limit notes what a stage does about bad samples.
func (c *compiler) limit(name string, h ops.Handling) {
	c.skipping[name] = h.Skips
	switch {
	case h.Policy == nil:
	case h.Replaces:
		c.spending[name] = h.Most
	case h.Policy.Skip:
		c.judges[name] = true
	}
}

// merge puts lines together.
func (c *compiler) merge(n *line, m *fuse.Merge) error {
	n.merge = m
	ways := map[*record.Source][]ops.PathStep{}
	begin := c.scope
	samples := int64(0)
	for _, f := range m.Of {
		c.scope = begin
		before := c.sources
		of, err := c.line(f)
		if err != nil {
			return err
		}
		named := fuse.Part{Names: []string{fmt.Sprintf("%s.%d", m.Name, len(n.of))}}
		if m.Keys && c.scope.Schema.Find("key") < 0 {
			c.reach(of, named)
			c.change(of, ops.NewKey(c.work, &c.scope.Columns))
			c.scope.Schema = c.scope.Schema.With("key", sample.TextType)
		}
		if m.Fields != nil {
			whole := m.Fields[len(n.of)]
			if len(whole) > len(c.scope.Schema) {
				c.reach(of, named)
				c.change(of, ops.NewFill(c.work, c.scope.Schema, whole, m.Fill, &c.scope.Columns))
			}
			c.scope.Schema = whole
		}
		n.of = append(n.of, of)
		for _, s := range before[:len(before)-len(c.sources)] {
			ways[&s.Source] = c.scope.path
		}
		samples += c.scope.samples
	}
	if most, ok := m.Until.Samples(); ok {
		n.most = c.share(most)
		samples = min(samples, n.most)
	}
	t := &c.scope
	t.Memory, t.samples = nil, samples
	t.path = []ops.PathStep{{Do: func(ctx context.Context, it *record.Record) (*record.Record, error) {
		return c.work.Follow(ctx, it, ways[it.Source])
	}}}
	return nil
}

// route divides samples among branches. What they give is alike, so it does not matter
// with which of them one goes on.
func (c *compiler) route(n *line, r *fuse.Route) error {
	work, before := c.work, c.scope
	choose, err := chooser(r, before.Schema, before.Columns.Of[r.By])
	if err != nil {
		return err
	}

	h := c.failing.Of(r.Failures, before.samples)
	c.limit(r.Name, h)
	next := &routing{name: r.Name, steps: []string{r.Name}, choose: namedChoice(choose), losses: h.Policy}
	if h.Replaces { // a router only looks, so what no branch takes is replaced before it
		pass := func(_ context.Context, it *record.Record) error { _, err := choose(it); return err }
		c.push(n, &stage{name: r.Name, steps: next.steps}, r.Failures, pass, func(*record.Record) {})
		next.name, next.steps, next.losses = r.Name+".branches", nil, nil
		before = c.scope
	}

	ways := make([][]ops.PathStep, len(r.Branches))
	for i, b := range r.Branches {
		c.scope = before
		c.scope.Columns, c.scope.Memory = before.Columns.Branch(), nil
		c.scope.path = append(slices.Clip(before.path), ops.PathStep{Do: ops.OnlyBranch(i, choose, work)})
		branch, err := c.line(b.Flow)
		if err != nil {
			return err
		}
		next.branches = append(next.branches, branch)
		ways[i] = c.scope.path[len(before.path)+1:]
	}

	t := &c.scope
	t.Memory = nil
	t.path = append(slices.Clip(before.path), ops.PathStep{Do: func(ctx context.Context, it *record.Record) (*record.Record, error) {
		i, err := choose(it)
		if err != nil {
			work.Drop(it)
			return nil, err
		}
		return work.Follow(ctx, it, ways[i])
	}})

	n.steps = append(n.steps, step{routing: next})
	return nil
}

// add appends a part whose result is stored.
func (c *compiler) add(n *line, p fuse.Part) (err error) {
	if p.Step != nil {
		switch recipe.TraitsOf(p.Step.Args).Count {
		case recipe.More:
			return c.flatMap(n, p)
		case recipe.Gathers:
			return c.aggregate(n, p)
		case recipe.Rows:
			return c.unbatch(n, p)
		}
		if args, ok := p.Step.Args.(recipe.FieldStep); ok {
			c.fields(n, p, args)
			return nil
		}
	}

	c.reach(n, p)
	s := &stage{name: p.Name(), steps: p.Names}

	var next ops.Part
	if p.Step == nil {
		next = c.images(p)
	} else if ops.IsPython(p.Step.Args) {
		if s.python, err = c.python(p); err == nil {
			s.python.Stage = s.name
		}
		next = s.python
	} else {
		next, err = c.link(*p.Step)
	}
	if err != nil {
		return err
	}

	c.scope.Memory.Parts = append(c.scope.Memory.Parts, next)
	c.push(n, s, p.Failures, c.work.Carry(next), func(it *record.Record) { it.Values.Sweep() })
	return nil
}

// reach sees to it that bytes are reserved for a part: it begins another leg where the
// one so far cannot foresee it.
func (c *compiler) reach(n *line, p fuse.Part) {
	t := &c.scope
	what := "reserve "
	switch {
	case p.Step != nil && opensFile(p.Step.Args, t.Schema):
		what = "load "
	case p.Images == nil || p.Images.Field == "":
	case ops.OpensVideo(p.Images):
		c.index(n, p)
		what = "load "
	default:
		what = "probe "
	}
	if t.Memory != nil && what != "load " && (what != "probe " || t.Memory.Probe.Kind != record.Bytes && !slices.Contains(t.Columns.Fresh, p.Images.Field)) {
		return
	}
	c.beginLeg()
	name := ""
	if p.Names == nil { // a step that was put before another part, which names it
		name = p.Step.Name
	} else {
		name = p.Names[0]
	}
	c.push(n, &stage{name: what + name, waits: true, asks: true}, nil, t.Memory.Reserve, func(*record.Record) {})
}

// opensFile tells whether a step opens a file by its path.
func opensFile(args recipe.Args, in sample.Schema) bool {
	o, ok := args.(recipe.Opener)
	return ok && o.Opens(in)
}

// index appends the stage that finds the packets of videos.
func (c *compiler) index(n *line, p fuse.Part) {
	t := &c.scope
	t.video = ops.NewVideo(c.work, p.Names[0], p.Images, &t.Scope)
	if recipe.TraitsOf(p.Images.Decoder).Count == recipe.Times {
		c.apart(n, p)
		return
	}
	c.push(n, &stage{name: "index " + p.Names[0]}, nil, t.video.Index, func(*record.Record) {})
}

// apart appends the stage that takes videos apart.
func (c *compiler) apart(n *line, p fuse.Part) {
	t := &c.scope
	next := ops.NewVideoApart(t.video, p.Images, &t.Scope)
	h := c.failing.Of(nil, t.samples)
	s := &stage{name: "index " + p.Names[0], expand: next.Expand, asks: true, losses: h.Policy}
	if !h.Replaces { // it leaves what is wrong to the decoder, which replaces
		c.limit(s.name, h)
	}
	n.steps = append(n.steps, step{stage: s})
	t.path = append(slices.Clip(t.path), ops.PathStep{Do: next.Again})
	c.drops, c.makes = true, true
	if clips := next.Always(); clips > 0 && (n.source != nil || n.batches != nil) {
		n.clips = max(1, n.clips) * clips
		t.samples *= clips
	} else { // in branches, samples of some are made into more than those of others
		c.uncounted = true
	}
}

// link makes a part of a step that is no function of Python.
func (c *compiler) link(s recipe.Step) (next ops.Part, err error) {
	next, err = ops.Link(c.work, s, &c.scope.Scope)
	if _, own := s.Args.(ops.Program); own {
		c.programs = true
		c.relabels = c.relabels || slices.Contains(c.scope.Columns.Fresh, "label")
	}
	return next, err
}

// images makes a part of steps on an image.
func (c *compiler) images(p fuse.Part) *ops.ImageSteps {
	t := &c.scope
	var video *ops.Video
	if ops.OpensVideo(p.Images) {
		video = t.video
	}
	return ops.LinkImages(c.work, p, &t.Scope, video, c.library)
}

// last has a part write into the rows of batches.
func (c *compiler) last(e *batch.Writer, p ops.RowPart) {
	e.Last = p
	c.scope.Memory.Parts = append(c.scope.Memory.Parts, p)
}

// end makes what fills batches of the last part.
func (c *compiler) end(n *line, plan fuse.Plan) (e *batch.Writer, err error) {
	e = &batch.Writer{Env: c.work, Made: -1}
	if plan.Batch.Collate != nil {
		e.Collating, err = c.collate(plan, c.rows)
		return e, err
	}

	p := plan.Last
	if c.groups {
		if err := c.group(n, e, plan); err != nil {
			return nil, err
		}
	} else if p.Reads && p.Step == nil {
		c.reader.Stage = p.Name()
		e.Function = batch.NewRowWriter(c.reader, c.layout)
		e.Function.Begin = n.source.Late(c.work, &c.scope.Columns)
	} else if p.Fills() {
		c.reach(n, p)
		row, err := ops.LinkRow(c.work, *p.Step, &c.scope.Scope)
		if err != nil {
			return nil, err
		}
		c.last(e, row)
	} else if p.Step != nil {
		c.reach(n, p)
		late := c.scope.Columns.Branch()
		if e.Function, err = c.rowWriter(p); err != nil {
			return nil, err
		}
		if p.Reads {
			e.Function.Begin = n.source.Late(c.work, &late)
		}
	} else if p.Images != nil {
		c.reach(n, p)
		images := c.images(p)
		images.Last = true
		c.last(e, images)
	}

	h := c.failing.Of(p.Failures, c.scope.samples)
	c.limit(p.Name(), h)
	e.Handle(p.Name(), h, c.scope.path)

	if plan.Batch.Pack != nil {
		e.Packed = c.layout.Tracks(*plan.Batch.Pack, c.scope.Schema, c.scope.Columns.Of)
		return e, nil
	}
	e.Lay(c.layout, plan, c.scope.Columns.Of)
	return e, nil
}
