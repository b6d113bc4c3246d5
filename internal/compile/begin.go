package compile

import (
	"github.com/headrace/headrace/internal/batch"
	"github.com/headrace/headrace/internal/record"
	"github.com/headrace/headrace/recipe/fuse"
)

// source gives places to what samples of a source have, and reads them.
func (b *builder) source(s *fuse.Source) error {
	b.line.source = b.sources[s]
	source := b.line.source
	b.Schema = s.Schema()
	b.Columns.Of = map[string]record.Column{}
	for _, f := range b.Schema {
		b.Columns.PutAny(f.Name, f.Type)
	}
	if b.samples = source.Expected(); source.Iterated() {
		b.samples = 0
	}
	b.leg()
	source.Scope = b.Memory

	last := b.plan.Last
	if last.Reads && last.Step != nil { // the workers of functions read, too
		return source.LinkOrder(b.Env)
	}
	if source.Lists() {
		deals := facts{drops: true, makes: true} // a place is a list, and samples are made of it
		b.append(&stage{name: "deal " + source.Name, steps: source.Names, expand: source.Deal(b.Env, b.mostInList()), known: deals})
	}
	python, err := source.Link(b.Env, s, b.Schema, &b.Columns)
	if err != nil {
		return err
	}
	// The stage that fills batches reads, too: a stage of its own would copy each sample
	// once more.
	if last.Reads {
		if b.line.reader = python; source.Iterated() {
			b.line.reader = source.Stream()
		}
		return nil
	}
	read := &stage{name: b.readName(s), waits: true, asks: true, buffers: true, python: python}
	b.push(read, s.Failures, source.Read(b.Env), b.Env.Drop)
	return nil
}

// mostInList returns the number of samples that a sampler's list may have; 0: any.
func (b *builder) mostInList() int {
	if b.plan.Batch.Lists && b.plan.Batch.Collate == nil {
		return b.plan.Batch.Size
	}
	return 0
}

// readName returns the name of the stage that reads a source.
func (b *builder) readName(s *fuse.Source) string {
	switch {
	case b.Policies.Sources > 1:
		return "read " + s.Name
	case s.Name == "read": // as the operation is called
		return "read samples"
	}
	return "read"
}

// open begins with the batches that a plan makes. None can be made again alone.
func (b *builder) open(p *fuse.Plan) error {
	made, t, err := b.compiler.section(p, b.scope)
	if err != nil {
		return err
	}
	b.line.batches, b.scope = made, t
	for name := range b.Columns.Of {
		b.Columns.Take(name)
	}
	b.Schema = made.Layout.Schema()
	b.line.opening = &batch.Opening{Env: b.Env}
	for _, f := range b.Schema {
		b.line.opening.Columns = append(b.line.opening.Columns, b.Columns.PutAny(f.Name, f.Type))
	}
	b.samples, _ = made.epoch()
	b.Columns.Rows = !made.Layout.Whole
	b.lose()
	return nil
}
