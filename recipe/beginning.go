package recipe

import "io"

// Beginning describes a first recipe for files of one kind, which headrace init prints.
type Beginning struct {
	Of    string                       // a file, for people: "recording"
	Paths bool                         // the files are not read whole
	Steps func(first io.Reader) string // lines of YAML; first is one of the files
}

// Begins returns the operation with the first recipe for the files that it decodes, those
// with a suffix in its [Traits].
func (o Op) Begins(b Beginning) Op {
	o.Beginning = &b
	return o
}
