package sample

import (
	"strconv"
	"strings"
)

// Output says which of several samples that steps made of one this is, counted from 0:
// "3" is the fourth that was made of it, and "3.1" the second that the next such step
// made of that. "" is the sample that its source gave. It is a string so that an [ID]
// can be compared.
type Output string

// Numbered is the output of these numbers, the first step's first.
func Numbered(numbers ...int64) Output {
	var o []byte
	for i, n := range numbers {
		if i > 0 {
			o = append(o, '.')
		}
		o = strconv.AppendInt(o, n, 10)
	}
	return Output(o)
}

// Numbers is what Numbered was given.
func (o Output) Numbers() []int64 {
	all := []int64{}
	if o == "" {
		return all
	}
	for part := range strings.SplitSeq(string(o), ".") {
		n, err := strconv.ParseInt(part, 10, 64)
		if err != nil { // made by hand
			return []int64{}
		}
		all = append(all, n)
	}
	return all
}
