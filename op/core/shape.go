package core

import "github.com/headrace/headrace/tensor"

// FitsShape reports whether an array of the shape s can be where want is.
func FitsShape(s, want tensor.Shape) bool {
	if len(s) != len(want) {
		return false
	}
	for i := range s {
		if want[i] != tensor.Unknown && want[i] != s[i] {
			return false
		}
	}
	return true
}
