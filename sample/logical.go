package sample

import (
	"fmt"
	"slices"
)

// Logical tells the meaning of values that are stored as others: times as whole numbers,
// decimals as text, categories as codes.
type Logical struct {
	Name  string   `json:"name"`            // as pyarrow writes it: "timestamp[us, tz=UTC]", "decimal128(10, 2)", "dictionary"
	Names []string `json:"names,omitempty"` // of a dictionary, by code
}

// Dictionary is the name of what has codes and names.
const Dictionary = "dictionary"

// String is Name, and how many names a dictionary has.
func (l *Logical) String() string {
	if l.Name == Dictionary {
		return fmt.Sprintf("%s[%d]", l.Name, len(l.Names))
	}
	return l.Name
}

// Equal reports whether both stand for the same, or neither for anything.
func (l *Logical) Equal(m *Logical) bool {
	if l == nil || m == nil {
		return l == m
	}
	return l.Name == m.Name && slices.Equal(l.Names, m.Names)
}

// As returns the type with another meaning.
func (t Type) As(l *Logical) Type {
	t.Logical = l
	return t
}
