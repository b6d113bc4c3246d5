package recipe

import "slices"

// importer is implemented by arguments that name what workers import.
type importer interface {
	imports() []string // "module:name"; "" is nothing
}

// Functions returns the names of what a recipe imports when it runs, "module:name", each
// once and in the order of the text. To look at a recipe imports none of them.
func (r Recipe) Functions() (all []string) {
	for _, s := range r.All() {
		args, ok := s.Args.(importer)
		if !ok {
			continue
		}
		for _, name := range args.imports() {
			if name != "" && !slices.Contains(all, name) {
				all = append(all, name)
			}
		}
	}
	return all
}
