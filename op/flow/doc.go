// Package flow is the operations that decide which samples come, in which order, and
// together with which others: orders, merges, routes and batches.
//
// An operation is one file with its arguments, which adds it to [Ops]. Package compile
// carries most of them out, as stages of the engine.
package flow

import "github.com/headrace/headrace/recipe"

// Ops are the operations of this package.
var Ops recipe.Room
