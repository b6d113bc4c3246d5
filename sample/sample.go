package sample

import "strconv"

// ID says which sample this is. Random draws, checkpoints and messages refer to samples
// by it.
type ID struct {
	Source string
	Epoch  int
	Pos    int64  // place in this rank's epoch
	Index  int64  // place in the source
	Output Output // which of the samples that were made of that one
}

// Error says which sample something happened to.
type Error struct {
	Key    string
	Index  int64
	Output Output
	Err    error
}

// Error is like `sample "a/b.jpg" (index 17): media: truncated JPEG`, and of an output
// like `sample "a/b.jpg" (index 17, output 3): …`.
func (e *Error) Error() string {
	// Quoted, since a path may hold any bytes, line breaks too.
	where := " (index " + strconv.FormatInt(e.Index, 10)
	if e.Output != "" {
		where += ", output " + string(e.Output)
	}
	return "sample " + strconv.Quote(e.Key) + where + "): " + e.Err.Error()
}

func (e *Error) Unwrap() error { return e.Err }
