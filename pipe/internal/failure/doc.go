// Package failure knows what went wrong in a run: a [Failure] has the error and the stage
// it is from, a [Policy] says how many a run tolerates, and a [Counter] counts them.
//
// [Call] and [Guarded] call functions of which nothing is known: a panic becomes an
// error, and a goroutine that is ended is noticed.
package failure
