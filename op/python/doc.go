// Package python calls functions of Python, in workers outside of the engine.
//
// A [Host] has the workers of a loader, which package extern starts, and the memory that
// they share with the engine; [HostOf] finds it. A [Function] is called for each sample,
// a chain of them one after the other ([NewChain]); a [FlatMap] makes several samples of
// one, and an [Aggregate] others of many. What was called while a loader was opened is
// not called again for the same sample.
package python

import "github.com/headrace/headrace/recipe"

// Ops are the operations of this package.
var Ops recipe.Room
