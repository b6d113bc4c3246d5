package recipe

import (
	"encoding/json"
	"slices"

	"headrace/recipe/internal/rawjson"
)

// numbersOf writes one number as it is, and several as a list.
func numbersOf[T int | float64](n ...T) []byte {
	var v any = n
	if len(n) == 1 {
		v = n[0]
	}
	b, _ := json.Marshal(v) // NaN has no form; Check refuses it
	return b
}

// parseNumbers reads a number or a list of them.
func parseNumbers[T int | float64](b []byte) ([]T, bool) {
	v := rawjson.Value(b)
	var n []T
	switch v.Kind() {
	case rawjson.Number:
		var one T
		err := json.Unmarshal(v, &one)
		return []T{one}, err == nil
	case rawjson.List:
		for _, e := range v.Elements() {
			var one T
			if e.Kind() != rawjson.Number || json.Unmarshal(e, &one) != nil {
				return nil, false
			}
			n = append(n, one)
		}
		return n, true
	}
	return nil, false
}

// shown writes an argument as recipes do.
func shown(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		return "?"
	}
	return string(b)
}

// oneIfEqual is the one form of numbers that may be given for each channel.
func oneIfEqual[T int | float64](n []T) []T {
	if len(n) > 0 && !slices.ContainsFunc(n, func(x T) bool { return x != n[0] }) {
		return n[:1]
	}
	return n
}
