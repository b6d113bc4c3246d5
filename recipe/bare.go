package recipe

import "github.com/headrace/headrace/sample"

// Bare is the name of the one field of samples that are no dicts: any value of Python's.
// Functions are given the value itself, and so is the loop.
const Bare = "_"

// OnlyBare is why no other sample may have that one field.
const OnlyBare = `%s the one field "_", the name of a sample that is not a dict: give it another name`

// IsBare tells whether samples are such values.
func IsBare(s sample.Schema) bool { return len(s) == 1 && s[0].Name == Bare }

// Loose returns the type of values that are no dicts, of which the first is of this type.
// Others may be anything else, unless a later step stacks them to an array.
func Loose(t sample.Type, stacked bool) sample.Type {
	if stacked || t.Kind == sample.Tensor && len(t.Shape) > 0 {
		return t
	}
	return sample.ObjectType
}

// Unseen tells whether samples of the source go into arrays before any step looks into
// them, and nothing follows: what their values are called does not matter then.
func (r Recipe) Unseen() bool {
	last := len(r.Steps) - 1
	for i, s := range r.Steps {
		switch op, _ := FindArgs(s.Args); {
		case i == last:
			b := TraitsOf(s.Args).Batches
			return i > 0 && b.arrays() && b.Ragged == nil
		case i == 0 && op.Place != Source, i > 0 && op.Place != Ordering:
			return false
		}
	}
	return false
}

// UnseenAfter tells whether what the function of a step returns goes into arrays before
// any step looks into it, and nothing follows.
func (r Recipe) UnseenAfter(step string) bool {
	last := len(r.Steps) - 1
	if last < 1 || r.Steps[last-1].Name != step {
		return false
	}
	b := TraitsOf(r.Steps[last].Args).Batches
	if !b.arrays() || b.Ragged != nil {
		return false
	}
	call := TraitsOf(r.Steps[last-1].Args).Call
	return call != nil && call.Kind == MapCall && call.Results() == nil // it returns whole samples
}

// Stacks tells whether one of the steps makes arrays of the values of several samples.
func (r Recipe) Stacks() bool {
	for _, s := range r.All() {
		if TraitsOf(s.Args).Batches.arrays() {
			return true
		}
	}
	return false
}
