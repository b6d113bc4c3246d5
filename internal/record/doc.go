// Package record is a sample on its way from its source to its row in a batch.
//
// A [Record] says which sample it is, and has its [Values]. Every field of a sample has a
// [Column], the place of its value, which is decided once, when a recipe is compiled:
// [Columns] are those of one edge of the recipe, and a [Table] gives a field the same
// column on all of them.
//
// A [Memory] gives records room for their values and takes it back. A value may be in
// memory that is shared with workers, and two values may be in the same piece of it, as a
// decoded array that was left where its file was read to: the memory goes back when no
// value is in it.
//
// A Record belongs to one goroutine at a time. Memory, Source, Column and Columns that
// are no longer written may be used by all.
package record
