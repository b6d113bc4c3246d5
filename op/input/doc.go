// Package input is the operations that samples come from: files, shards and objects of
// Python.
//
// An operation is one file with its arguments, which adds it to [Ops]; what carries it
// out is beside it.
package input

import "github.com/headrace/headrace/recipe"

// Ops are the operations of this package.
var Ops recipe.Room
