package argument

import "fmt"

// OrElse returns what p points to, or the default where nothing is given.
func OrElse[T any](p *T, usual T) T {
	if p == nil {
		return usual
	}
	return *p
}

// Unless is word, or "" where that is what was always meant before there was a choice:
// what recipes had no word for then is left out of their fingerprints, so that states
// saved with them still fit.
func Unless(word, usual string) string {
	if word == usual {
		return ""
	}
	return word
}

// CheckNames refuses a name that a list has twice.
func CheckNames(arg string, names []string) error {
	seen := make(map[string]bool)
	for i, name := range names {
		if seen[name] {
			return Wrong(fmt.Sprintf("%s[%d]", arg, i), "is %q, a second time", name)
		}
		seen[name] = true
	}
	return nil
}
