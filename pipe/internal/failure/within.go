package failure

import "errors"

// Within says that it is the position n, counted from 0, of an item that stands for
// several that has failed.
func Within(err error, n int64) error {
	if err == nil {
		return nil
	}
	return withinError{err, n}
}

// PlaceOf returns what Within was given; 0: nothing.
func PlaceOf(err error) int64 {
	var e withinError
	if errors.As(err, &e) {
		return e.n
	}
	return 0
}

type withinError struct {
	error
	n int64
}

func (e withinError) Unwrap() error { return e.error }
