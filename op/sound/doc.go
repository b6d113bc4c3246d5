// Package sound is the operations on recordings: they are decoded, and become
// spectrograms.
//
// An operation is one file with its arguments, which adds it to [Ops]; what carries it
// out is beside it.
package sound

import "github.com/headrace/headrace/recipe"

// Ops are the operations of this package.
var Ops recipe.Room
