package media

import "fmt"

// names are those of an enumeration's values, in their order, and what the enumeration
// is of.
type names struct {
	of  string
	all []string
}

func (n names) parse(name string) (uint8, error) {
	for i := range n.all {
		if n.all[i] == name {
			return uint8(i), nil
		}
	}
	return 0, fmt.Errorf("media: unknown %s %q: must be one of %q", n.of, name, n.all)
}

func (n names) text(value uint8) string {
	if int(value) >= len(n.all) {
		return fmt.Sprintf("%s(%d)", n.of, value)
	}
	return n.all[value]
}

// check returns what is wrong with a value that an operation is to have.
func (n names) check(op string, value uint8) error {
	if int(value) >= len(n.all) {
		return fmt.Errorf("%w: %s with %s", ErrGeometry, op, n.text(value))
	}
	return nil
}
