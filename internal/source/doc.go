// Package source is where records come from.
//
// A [Listing] turns positions of this rank's epoch into indices by arithmetic, so that
// any place can be reached at once. Its [Contents] read what is there: they are files,
// objects of Python that are asked by index, or objects of Python that are iterated
// over.
//
// To read something else, implement Contents.
package source
