package recipe

import "github.com/headrace/headrace/sample"

// FieldStep is implemented by arguments of operations that take fields away, or give them
// other names or several, and look at no value.
type FieldStep interface {
	Args
	// Kept returns, for samples of a schema, the fields that there are then, in their
	// order, by the names that they had and have then. One whose value several get is
	// there several times. The arguments must have been checked.
	Kept(in sample.Schema) (before, after []string)
}
