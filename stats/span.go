package stats

import "github.com/headrace/headrace/pipe"

// Span is a part of the life of a worker, with the name of the sample that it worked on.
type Span struct {
	pipe.Span
	Key   string // the name of a file, or ""
	Index int64  // the sample's number in its source, or -1
}
