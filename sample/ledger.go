package sample

import "errors"

// Lost is a sample that failed under a policy that tolerates it.
type Lost struct {
	ID       ID
	Key      string
	Stage    string
	Err      error
	Replaced bool // another came in its place; otherwise it was dropped

	Place string // by what states call its source, where that is not the source's name; "": it is
}

// Cause is Err without the sample's name, which the other fields have.
func (l Lost) Cause() error {
	if bad := (*Error)(nil); errors.As(l.Err, &bad) {
		return bad.Err
	}
	return l.Err
}

// Origin says which sample a row of a batch holds. Loaders know it of every row if their
// options ask for a ledger.
type Origin struct {
	ID       ID
	Key      string
	Draws    []Draw // what random operations drew for it, in the order in which they ran
	Replaced *Lost  // the sample in whose place this one came; nil: it is its own
}

// Draw is what a step drew for one sample. Values of an operation on images are those of
// media's Draw; a Go operation has the list "draws": all numbers that it took, in their
// order.
type Draw struct {
	Step   string
	Values map[string]any
}
