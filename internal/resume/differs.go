package resume

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
)

// differs says what is different about the steps of a recipe, given its outline and that
// of the recipe that saved a state.
func differs(was, is []string) string {
	switch {
	case len(was) == 0:
		return "it was saved by another recipe: by another pipeline, or with other seeds"
	case slices.Equal(was, is):
		return "it was saved with another seed: the steps are the same"
	}

	at := 0 // what both begin with
	for at < min(len(was), len(is)) && was[at] == is[at] {
		at++
	}
	was, is = was[at:], is[at:]
	// Steps that both begin or end with are left out, so that the changed ones are named.
	for len(was) > 0 && len(is) > 0 && was[len(was)-1] == is[len(is)-1] {
		was, is = was[:len(was)-1], is[:len(is)-1]
	}

	const other = "it was saved by another pipeline: "
	switch {
	case len(was) == 0:
		return fmt.Sprintf(other+"it lacks %s, here %s", listed(is), numbered(at, len(is)))
	case len(is) == 0:
		return fmt.Sprintf(other+"it also has %s, there %s", listed(was), numbered(at, len(was)))
	case len(was) == 1 && len(is) == 1:
		return other + changed(at, was[0], is[0])
	case sameSteps(was, is):
		return fmt.Sprintf(other+"the order of steps %d to %d was %s, here it is %s", at+1, at+len(is), listed(was), listed(is))
	default:
		return other + changed(at, was[0], is[0]) + ", and steps after it differ, too"
	}
}

// changed says how one step differs.
func changed(at int, was, is string) string {
	if shown(was) == shown(is) {
		return fmt.Sprintf("step %d, %s, had other arguments", at+1, shown(is))
	}
	return fmt.Sprintf("step %d was %s, here it is %s", at+1, shown(was), shown(is))
}

func numbered(at, n int) string {
	if n == 1 {
		return fmt.Sprintf("step %d", at+1)
	}
	return fmt.Sprintf("steps %d to %d", at+1, at+n)
}

func sameSteps(a, b []string) bool {
	return slices.Equal(slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b)))
}

// listed shows steps, the first few of many.
func listed(steps []string) string {
	const most = 4
	var all []string
	for _, s := range steps[:min(len(steps), most)] {
		all = append(all, shown(s))
	}
	if more := len(steps) - most; more > 0 {
		all = append(all, fmt.Sprintf("… %d more", more))
	}
	return strings.Join(all, " → ")
}

// shown is a line of an outline without its digits. It may come from a file that somebody
// else has written.
func shown(line string) string {
	if i := strings.LastIndexByte(line, ' '); i > 0 {
		line = line[:i]
	}
	text := []rune(strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return '?'
	}, line))
	if len(text) > 200 {
		text = append(text[:199], '…')
	}
	return string(text)
}
