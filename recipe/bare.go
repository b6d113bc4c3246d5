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

// Stacks tells whether one of the steps makes arrays of the values of several samples.
func (r Recipe) Stacks() bool {
	for _, s := range r.All() {
		if TraitsOf(s.Args).Batches.arrays() {
			return true
		}
	}
	return false
}
