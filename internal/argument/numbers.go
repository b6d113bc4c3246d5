package argument

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/headrace/headrace/internal/rawjson"
)

// MarshalNumbers writes one number as it is, and several as a list.
func MarshalNumbers[T int | float64](n ...T) []byte {
	var v any = n
	if len(n) == 1 {
		v = n[0]
	}
	b, _ := json.Marshal(v) // NaN has no form; Check refuses it
	return b
}

// UnmarshalNumbers reads a number, or a list of one of so many, or of any number if none
// are given. Takes names what it takes.
func UnmarshalNumbers[T int | float64](b []byte, takes string, counts ...int) (n []T, err error) {
	v := rawjson.Value(b)
	each := func(e rawjson.Value) {
		var one T
		if e.Kind() != rawjson.Number || json.Unmarshal(e, &one) != nil {
			err = fmt.Errorf("recipe: must be %s", takes)
		}
		n = append(n, one)
	}
	if v.Kind() != rawjson.List {
		each(v)
		return n, err
	}
	for _, e := range v.Elements() {
		each(e)
	}
	if len(counts) > 0 && !slices.Contains(counts, len(n)) {
		err = fmt.Errorf("recipe: must be %s", takes)
	}
	return n, err
}

// Written writes an argument as recipes do.
func Written(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		return "?"
	}
	return string(b)
}

// OneIfEqual is the one form of numbers that may be given for each channel.
func OneIfEqual[T int | float64](n []T) []T {
	if len(n) > 0 && !slices.ContainsFunc(n, func(x T) bool { return x != n[0] }) {
		return n[:1]
	}
	return n
}
