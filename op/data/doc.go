// Package data is the operations on arrays in files, and on the fields of samples.
//
// An operation is one file with its arguments, which adds it to [Ops]; what carries it
// out is beside it.
package data

import "github.com/headrace/headrace/recipe"

// Ops are the operations of this package.
var Ops recipe.Room
