package compile

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strconv"

	"github.com/headrace/headrace/internal/numbers"
	"github.com/headrace/headrace/internal/record"
	"github.com/headrace/headrace/recipe"
	"github.com/headrace/headrace/recipe/fuse"
	"github.com/headrace/headrace/sample"
	"github.com/headrace/headrace/store"
	"github.com/headrace/headrace/tensor"
)

// chooser says of a sample which of a route's branches takes it: the first that does.
func chooser(r *fuse.Route, in sample.Schema, at record.Column) (func(*record.Record) (int, error), error) {
	i := in.Find(r.By)
	if i < 0 || at.Kind != record.Texts && at.Kind != record.Numbers {
		return nil, fmt.Errorf("headrace: route %q goes by the field %q, which has no text and no number here", r.Name, r.By)
	}
	matches := textMatches(at)
	if at.Kind == record.Numbers {
		matches = numberMatches(at, in[i].Type.DType)
	}
	var branches []func(*record.Record) bool

	for _, b := range r.Branches {
		if b.When == nil {
			branches = append(branches, func(*record.Record) bool { return true })
		} else {
			branches = append(branches, matches(b.When))
		}
	}
	return func(it *record.Record) (int, error) {
		for i, takes := range branches {
			if takes(it) {
				return i, nil
			}
		}
		return -1, fmt.Errorf("headrace: no branch of %s matches this sample, whose %s is %s",
			r.Name, r.By, shown(it.Values, at, in[i].Type.DType))
	}, nil
}

// textMatches makes conditions on text.
func textMatches(at record.Column) func([]recipe.When) func(*record.Record) bool {
	return func(when []recipe.When) func(*record.Record) bool {
		var all []store.Matcher
		for _, w := range when {
			all = append(all, store.ParseMatcher(string(w.Pattern)))
		}
		return func(it *record.Record) bool {
			return slices.ContainsFunc(all, func(m store.Matcher) bool { return m.Matches(it.Values.Texts[at.At]) })
		}
	}
}

// numberMatches makes conditions on whole numbers.
func numberMatches(at record.Column, d tensor.DType) func([]recipe.When) func(*record.Record) bool {
	return func(when []recipe.When) func(*record.Record) bool {
		return func(it *record.Record) bool {
			n, ok := numbers.Whole(d, it.Values.Numbers[at.At:])
			return ok && slices.ContainsFunc(when, func(w recipe.When) bool { return *w.Number == n })
		}
	}
}

// shown is a value in words.
func shown(v *record.Values, at record.Column, d tensor.DType) string {
	if at.Kind == record.Texts {
		return strconv.Quote(v.Texts[at.At])
	}
	if n, ok := numbers.Whole(d, v.Numbers[at.At:]); ok {
		return strconv.FormatInt(n, 10)
	}
	return strconv.FormatUint(binary.NativeEndian.Uint64(v.Numbers[at.At:]), 10)
}
