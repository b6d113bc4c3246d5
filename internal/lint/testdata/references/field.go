package references

import "slices"

func field() (n int) {
	all := slices.Clone(name())
	for _, t := range all {
		n += t.Field
	}
	return n
}
