package npy

import "errors"

// Rows is how many rows an array has, along its first axis, and the bytes of each.
func (l Layout) Rows() (rows, each int64, err error) {
	if len(l.Shape) == 0 {
		return 0, 0, errors.New("npy: an array without axes has no rows")
	}
	rows = int64(l.Shape[0])
	if rows == 0 {
		return 0, 0, nil
	}
	if l.Size == 0 {
		return 0, 0, errors.New("npy: the rows of the array have no elements")
	}
	return rows, l.Size / rows, nil
}
