package recipe

import "slices"

// Functions returns the names of what a recipe imports when it runs, "module:name", each
// once and in the order of the text. To look at a recipe imports none of them.
func (r Recipe) Functions() (all []string) {
	for _, s := range r.All() {
		call := TraitsOf(s.Args).Call
		if call == nil {
			continue
		}
		for _, name := range []string{call.Function, call.Keys} {
			if name != "" && !slices.Contains(all, name) {
				all = append(all, name)
			}
		}
	}
	return all
}
