// Package batch is how records become rows: a [Layout] says where the fields of a batch
// are in a slot, [Slots] lets the engine fill batches in the slots of an arena, and a
// [Writer] writes records into their rows.
//
// Samples come into batches as they come, by what they are ([Grouping]), several packed
// into a row, or as whole batches that a function of Python makes ([Collating]).
//
// A Batch is one goroutine's at a time, except that workers write different rows of it
// at once.
package batch
