// Package lines finds the samples of text files: lines of JSON or of text, or rows of a
// table whose columns are separated by commas or tabs.
//
// Files may be packed by gzip or Zstandard. A scan reads the file once. A file that is
// not packed is read at any line from then on; a packed one by its frames or members,
// which a line has to be unpacked with. Zstandard files of many frames and files of
// bgzip are read at random cheaply, and one of a single member is unpacked whole for a
// line.
//
// Lines end with a line feed, before which a carriage return does not count, and the last
// one need not end. A byte order mark is left out. Empty lines are no samples, except in
// text.
//
// # Fields
//
// [JSONL] has what the first object has: "text", or "meta.url" for a value inside
// another. Strings are text, numbers are int64 or float64, booleans are bool, and lists
// of numbers are arrays. Everything else can be read as text too, and is JSON then. A
// value that is missing or null is NaN where it would be a float, and empty where it
// would be text. As Python does, a reader takes NaN and Infinity for numbers.
//
// [CSV] has its first row's names. Values in quotes may have line breaks, and quotes that
// are doubled. [Text] has the field "text".
package lines
