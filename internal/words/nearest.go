// Package words has what messages are made of: lists of names, numbers of things, and
// what somebody probably meant.
package words

import (
	"fmt"
	"math"
	"strings"
)

// Unknown says that a name is not among those that are known, and which of them was
// probably meant. What is the kind of name: "argument".
func Unknown(what, name string, known []string) error {
	hint := ""
	if near := Nearest(name, known); near != "" {
		hint = fmt.Sprintf("did you mean %q? ", near)
	}
	return fmt.Errorf("unknown %s %q: %sthe %ss are %s", what, name, hint, what, List(known))
}

// Nearest returns the known name from which the fewest mistakes of typing lead to name;
// "" where that would be no mistake of typing.
func Nearest(name string, known []string) string {
	name = strings.ToLower(name)
	best, fewest := "", math.MaxInt
	for _, k := range known {
		a, b := apart(name, strings.ToLower(k))
		if d := distance(a, b); d < fewest && d <= max(1, len(a)/3) {
			best, fewest = k, d
		}
	}
	return best
}

// apart returns names without the words, each with a _ after it, that both begin with:
// random_split is no more like random_flip than split is like flip.
func apart(a, b string) (string, string) {
	for {
		i := strings.IndexByte(a, '_') + 1
		if i == 0 || i >= len(a) || i >= len(b) || a[:i] != b[:i] {
			return a, b
		}
		a, b = a[i:], b[i:]
	}
}

// distance counts the letters that must be inserted, deleted, replaced or exchanged with
// their neighbour to get from a to b (Damerau-Levenshtein, optimal string alignment).
func distance(a, b string) int {
	// Three rows of the table are enough: an exchange looks two rows back.
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}

	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}
