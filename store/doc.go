// Package store is where bytes are: it lists files, and reads them whole or in parts.
//
//	table, err := store.List(ctx, "/home/me", "data/train/*/*.JPEG", nil) // or a folder: every file below with a known suffix
//	for i := range table.Len() {
//		buf, err = store.ReadFile(table.Path(i), buf) // table.Key(i) is the path as it was given
//	}
//
// Paths are bytes: a name need not be UTF-8. Patterns mean what they mean to Python's
// glob module, so that a dataset listed there is the same dataset here; but a folder
// that cannot be read is an error, as a silent gap in a dataset would be learned from.
// doc of [List] has the rules.
//
// A [Store] does so for the objects of a service, and a [Writer] makes some. [Register]
// gives it a scheme. [Open], [Read], [Stat], [List], [Put] and [Append] take names of all
// stores: whoever calls them needs to know of none.
//
// # Concurrency
//
// A [Table] does not change. [List] and [ReadFile] may run in any number of goroutines;
// they block a thread while the disk is slow.
//
// # Testing
//
// The walker is held against Python's glob and os.walk on random trees, the matcher of
// names against Python's fnmatch and a slow matcher of our own; permissions are tested
// as a user who is not root. Package storetest has what every Store must pass.
package store
