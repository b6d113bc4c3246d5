package headrace

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strconv"

	"headrace/recipe"
	"headrace/recipe/fuse"
	"headrace/sample"
	"headrace/store"
	"headrace/tensor"
)

// chooser says of a sample which of a route's branches takes it: the first that does.
func chooser(r *fuse.Route, in sample.Schema, at place) (func(*item) (int, error), error) {
	i := in.Find(r.By)
	if i < 0 || at.in != texts && at.in != numbers {
		return nil, fmt.Errorf("headrace: route %q goes by the field %q, which has no text and no number here", r.Name, r.By)
	}
	matches := textMatches(at)
	if at.in == numbers {
		matches = numberMatches(at, in[i].Type.DType)
	}
	var branches []func(*item) bool
	for _, b := range r.Branches {
		if b.When == nil {
			branches = append(branches, func(*item) bool { return true })
		} else {
			branches = append(branches, matches(b.When))
		}
	}
	return func(it *item) (int, error) {
		for i, takes := range branches {
			if takes(it) {
				return i, nil
			}
		}
		return -1, fmt.Errorf("headrace: no branch of %s takes this sample, whose %s is %s", r.Name, r.By, shown(it.values, at, in[i].Type.DType))
	}, nil
}

// textMatches makes conditions on text.
func textMatches(at place) func([]recipe.When) func(*item) bool {
	return func(when []recipe.When) func(*item) bool {
		var all []store.Matcher
		for _, w := range when {
			all = append(all, store.ParseMatcher(string(w.Pattern)))
		}
		return func(it *item) bool {
			return slices.ContainsFunc(all, func(m store.Matcher) bool { return m.Matches(it.values.texts[at.at]) })
		}
	}
}

// numberMatches makes conditions on whole numbers.
func numberMatches(at place, d tensor.DType) func([]recipe.When) func(*item) bool {
	return func(when []recipe.When) func(*item) bool {
		return func(it *item) bool {
			n, ok := it.values.integer(at, d)
			return ok && slices.ContainsFunc(when, func(w recipe.When) bool { return *w.Number == n })
		}
	}
}

// integer returns a whole number; false where it is greater than any int64.
func (v *values) integer(at place, d tensor.DType) (int64, bool) {
	b := v.numbers[at.at:]
	switch d {
	case tensor.Uint8:
		return int64(b[0]), true
	case tensor.Int8:
		return int64(int8(b[0])), true
	case tensor.Uint16:
		return int64(binary.NativeEndian.Uint16(b)), true
	case tensor.Int16:
		return int64(int16(binary.NativeEndian.Uint16(b))), true
	case tensor.Uint32:
		return int64(binary.NativeEndian.Uint32(b)), true
	case tensor.Int32:
		return int64(int32(binary.NativeEndian.Uint32(b))), true
	default:
		n := binary.NativeEndian.Uint64(b)
		return int64(n), d == tensor.Int64 || n <= math.MaxInt64
	}
}

// shown is a value in words.
func shown(v *values, at place, d tensor.DType) string {
	if at.in == texts {
		return strconv.Quote(v.texts[at.at])
	}
	if n, ok := v.integer(at, d); ok {
		return strconv.FormatInt(n, 10)
	}
	return strconv.FormatUint(binary.NativeEndian.Uint64(v.numbers[at.at:]), 10)
}
