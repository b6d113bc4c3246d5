// Package source is where records come from.
//
// A [Listing] turns positions of this rank's epoch into indices by arithmetic, so that
// any place can be reached at once. Its [Contents] read what is there: those of package
// input, objects of Python that are asked by index, or objects of Python that are
// iterated over.
//
// To read something else, implement Contents, and [Input] for the arguments of its step.
// An order of its own is set by a step that is an [Orderer].
package source
