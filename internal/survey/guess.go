package survey

import (
	"slices"

	"github.com/headrace/headrace/recipe"
	"github.com/headrace/headrace/sample"
	"github.com/headrace/headrace/tensor"
)

// guess is an extent that the first sample alone has told.
type guess struct {
	shape  tensor.Shape // of the field; the recipe has the same memory
	axis   int
	extent int
}

// remember notes what of the types that a first sample told may differ in others:
// height and width of what may be an image, all extents of an array that is no field,
// and, after a step that makes batches, how many rows there are.
func (f *Survey) remember(gives sample.Schema, batched bool) {
	for i := range gives {
		t := &gives[i].Type
		t.Shape = slices.Clone(t.Shape)
		varies := t.Shape
		switch {
		case recipe.IsBare(gives):
		case slices.Contains(f.ragged, gives[i].Name) && recipe.Raggable(*t):
			t.Shape[0] = tensor.Unknown
			continue
		case batched && len(t.Shape) > 0:
			varies = t.Shape[:1]
		case recipe.CouldBeImage(*t):
			varies = t.Shape[:2]
		default:
			continue
		}
		for axis, extent := range varies {
			if extent != tensor.Unknown {
				f.guesses = append(f.guesses, guess{t.Shape, axis, extent})
			}
		}
	}
}

// loosen leaves open every such extent without which a recipe is right: a later step
// makes one size of whatever comes.
func (f *Survey) loosen(check func() error) {
	for _, g := range f.guesses {
		g.shape[g.axis] = tensor.Unknown
	}
	pinned := 0
	for at := len(f.guesses); at > 0 && check() != nil; {
		at--
		f.guesses[at].pin()
		pinned++
	}
	// Those that were pinned before the one that mattered may not have to be.
	for i := len(f.guesses) - pinned; i < len(f.guesses); i++ {
		g := f.guesses[i]
		if g.shape[g.axis] = tensor.Unknown; check() != nil {
			g.pin()
		}
	}
}

// tighten makes the extents those of the first sample.
func (f *Survey) tighten() {
	for _, g := range f.guesses {
		g.pin()
	}
}

func (g guess) pin() { g.shape[g.axis] = g.extent }
