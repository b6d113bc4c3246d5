package fuse

import (
	"slices"
	"strings"

	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/recipe"
	"github.com/headrace/headrace/sample"
)

// Plan is a recipe as the engine runs it: where samples come from and what happens to
// them, and what puts them into batches.
type Plan struct {
	Samples Flow
	Schema  sample.Schema // of them
	Rows    sample.Schema // of the rows of batches, or of batches that are made whole
	// puts samples into batches, with the steps on an image or the function of Python
	// before it, if it has Images or a Step
	Last Part

	Batch recipe.Batches // how they come into batches

	Lanes int // into which the order is divided, as the recipe says; 0: it says nothing

	Single bool // nothing makes batches: each sample is given out by itself, as if it were a batch of one
}

// Deliver is the name of the stage that gives samples out one by one. No step has such a
// name.
const Deliver = "deliver samples"

// Flow is samples on their way: from a Source, or from a Merge, or from what a Plan makes
// batches, or, in a branch, from none of these; through nodes, one after the other.
type Flow struct {
	Source  *Source
	Merge   *Merge
	Batches *Plan // whose batches are the samples
	Nodes   []Node
}

// Node is a Part or a Route.
type Node struct {
	Part  *Part
	Route *Route
}

// Source says which samples come, and in which order.
type Source struct {
	Name     string   // of its step
	Names    []string // of all steps that say this
	Args     recipe.Args
	Orders   []Order // none: all samples come, as they are numbered
	Failures *recipe.Failures
}

// Order is a step that says which samples of a source come, or in which order.
type Order struct {
	Name string
	Args recipe.Args
	Seed uint64 // its own, or that of the recipe
}

// Schema is that of the samples. The recipe must have passed its Check.
func (s *Source) Schema() sample.Schema {
	schema, _ := s.Args.Check(nil)
	return schema
}

// object is the Python object that samples come from; nil: they come from none.
func (s *Source) object() *recipe.Call {
	if s == nil {
		return nil
	}
	return recipe.TraitsOf(s.Args).Call
}

// Merge puts flows together: those of the operation merge, or mix.
type Merge struct {
	Name  string
	Of    []Flow
	Order string
	Until recipe.Until
	Keys  bool // samples that come without a key get one

	Mix   *recipe.Mixing // how often each is next; nil: Order says that
	Names []string       // of each of Of, in a mix
	Seed  uint64         // of a mix: its own, or that of the recipe

	Fields []sample.Schema // of each of Of, with those that are filled; nil: nothing is
	Fill   recipe.PadValue // with this
}

// Computed reports whether the samples of all chains have places in one order, which says
// whose turn it is. Otherwise each chain has an order of its own.
func (m *Merge) Computed() bool { return m.Mix != nil && !m.Mix.Arrivals }

// Route gives each sample to one of several branches.
type Route struct {
	Name     string
	By       string
	Branches []Branch
	Failures *recipe.Failures
}

// Branch is what happens to some of the samples of a route.
type Branch struct {
	When []recipe.When // nil: to all that no other branch takes
	Flow Flow
}

// Part is what runs as one. It has Images, or another Step, or neither: then it is the
// batch alone. Where it is the last, the batch is a part of it.
type Part struct {
	Names    []string // of the steps that it consists of
	Images   *Images
	Step     *recipe.Step
	Then     []recipe.Step    // after Step: functions of Python that the same workers call next, or more steps on columns
	Reads    bool             // the last part alone: the object that is the source is read here, into the batch; or it is Step
	Failures *recipe.Failures // of its first step; all others have the same, or none of their own
	Of       string           // the field that it works on, where its first step is that of another part, too
}

// Name is like "decode_image+resize+center_crop+batch".
func (p Part) Name() string {
	name := strings.Join(p.Names, "+")
	if p.Of != "" {
		name += " of " + p.Of
	}
	return name
}

// Filler is implemented by arguments of steps that can write what they make into the
// batch itself.
type Filler interface {
	recipe.Args
	// Fills reports whether they can, if samples are stacked: all are of one size.
	Fills() bool
}

// Fills reports whether a part is a step that can write into a batch.
func (p *Part) Fills() bool {
	if p.Step == nil {
		return false
	}
	args, ok := p.Step.Args.(Filler)
	return ok && args.Fills()
}

// Chain returns the steps of a part that is not on an image, in their order.
func (p *Part) Chain() []recipe.Step {
	if p.Step == nil {
		return nil
	}
	return append([]recipe.Step{*p.Step}, p.Then...)
}

// Images is what happens to the image or clip of a sample.
type Images struct {
	Field   string         // with the compressed image or video; "": To holds pixels already
	To      string         // with the pixels
	Decoder recipe.Decoder // that makes pixels of Field; nil: there is none
	Decode  media.Options  // of the compressed image; of pixels, their mode and what they are
	Form    media.Form     // what the first of Steps is given
	Steps   []media.Step
	Joint   []Joint
	Along   *Along // nil: nothing goes along
}

// Along has the boxes and points of an image, which steps move.
type Along struct {
	Tied []recipe.Tied
	From int // the first of Images.Steps that does
}

// Joint is a step that several images have in common, all of one size.
type Joint struct {
	Step   int // of Images.Steps
	Fields []string
}

// Sources returns all sources of the flow, in the order of the recipe.
func (f Flow) Sources() (all []*Source) {
	if f.Source != nil {
		all = append(all, f.Source)
	}
	if f.Merge != nil {
		for _, of := range f.Merge.Of {
			all = append(all, of.Sources()...)
		}
	}
	if f.Batches != nil {
		all = append(all, f.Batches.Samples.Sources()...)
	}
	return all
}

// Begins returns how many sources the flow has of which the samples have positions of
// their own: a mix is one.
func (f Flow) Begins() (n int) {
	switch {
	case f.Source != nil, f.Merge != nil && f.Merge.Computed():
		return 1
	case f.Batches != nil:
		return f.Batches.Samples.Begins()
	case f.Merge != nil:
		for _, of := range f.Merge.Of {
			n += of.Begins()
		}
	}
	return n
}

// Merges returns all merges and mixes of the flow, outer ones first.
func (f Flow) Merges() (all []*Merge) {
	if f.Merge != nil {
		all = append(all, f.Merge)
		for _, of := range f.Merge.Of {
			all = append(all, of.Merges()...)
		}
	}
	if f.Batches != nil {
		all = append(all, f.Batches.Samples.Merges()...)
	}
	return all
}

// Unbatches tells whether a step of the flow takes the batches apart that it consists of.
func (f Flow) Unbatches() bool {
	return slices.ContainsFunc(f.Nodes, func(n Node) bool {
		if n.Part == nil || n.Part.Step == nil {
			return false
		}
		return recipe.TraitsOf(n.Part.Step.Args).Count == recipe.Rows
	})
}

// Gathers tells whether batches are made in the flow, before those of its plan.
func (f Flow) Gathers() bool {
	if f.Batches != nil || f.Merge != nil && slices.ContainsFunc(f.Merge.Of, Flow.Gathers) {
		return true
	}
	return slices.ContainsFunc(f.Nodes, func(n Node) bool {
		if n.Route != nil {
			return slices.ContainsFunc(n.Route.Branches, func(b Branch) bool { return b.Flow.Gathers() })
		}
		return n.Part.gathers()
	})
}

// gathers tells whether a part is a step that makes batches, in a chain of a merge or
// route.
func (p *Part) gathers() bool {
	return p.Step != nil && recipe.TraitsOf(p.Step.Args).Batches != nil
}

// First is what makes batches of single samples: the plan itself, or the one before it.
func (p *Plan) First() *Plan {
	for p.Samples.Batches != nil {
		p = p.Samples.Batches
	}
	return p
}

// Parts returns all parts of the plan, in the order of the recipe.
func (p Plan) Parts() []*Part { return append(p.Samples.parts(), &p.Last) }

func (f Flow) parts() (all []*Part) {
	if f.Batches != nil {
		all = append(all, f.Batches.Parts()...)
	}
	if f.Merge != nil {
		for _, of := range f.Merge.Of {
			all = append(all, of.parts()...)
		}
	}
	for _, n := range f.Nodes {
		if n.Part != nil {
			all = append(all, n.Part)
			continue
		}
		for _, b := range n.Route.Branches {
			all = append(all, b.Flow.parts()...)
		}
	}
	return all
}
