package argument

import (
	"errors"
	"fmt"
)

// Mistake is what is wrong with an argument, found by an operation that does not know
// which step it is in.
type Mistake struct {
	Path string // from the operation: "size", "paths[3]"
	Err  error
}

func (m Mistake) Error() string { return m.Err.Error() }

func (m Mistake) Unwrap() error { return m.Err }

// Wrong says what is wrong with an argument. The text goes on after the argument's name:
// "is 0: must be at least 1".
func Wrong(name, format string, values ...any) error {
	return Mistake{name, fmt.Errorf(format, values...)}
}

// Inside is what is wrong with an argument's own arguments.
func Inside(name string, err error) error {
	if many, ok := err.(interface{ Unwrap() []error }); ok {
		var all []error
		for _, e := range many.Unwrap() {
			all = append(all, Inside(name, e))
		}
		return errors.Join(all...)
	}
	if m, ok := err.(Mistake); ok {
		return Mistake{Join(name, m.Path), m.Err}
	}
	if err != nil {
		return Mistake{name, err}
	}
	return nil
}

// Given refuses arguments without one that is required.
func Given(name string, given bool) error {
	if given {
		return nil
	}
	return fmt.Errorf("lacks the argument %s", name)
}

// Keyed is a mistake whose place is a key of an object, not the object.
type Keyed struct {
	Key string
	error
}

// AtKey places a mistake at a key.
func AtKey(key string, err error) Keyed { return Keyed{key, err} }

// Unwrap returns the mistake itself.
func (k Keyed) Unwrap() error { return k.error }

// Join goes from a path to a key of the object there.
func Join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}
