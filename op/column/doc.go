// Package column is the operations on columns: the numbers and the text of tables.
//
// An operation is one file with its arguments, which adds it to [Ops]. It says which
// fields it makes of which others, as a [Column] for each, with the function that fills
// one. The same function fills the field of a sample, that of a batch, and that of the
// rows of a batch that is read by columns, without samples: so all three have the same
// bytes.
package column

import "github.com/headrace/headrace/recipe"

// Ops are the operations of this package.
var Ops recipe.Room
