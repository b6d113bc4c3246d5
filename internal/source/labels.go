package source

import (
	"slices"

	"github.com/headrace/headrace/recipe"
)

// labelByParent numbers the folders in which files are, in the order of their names'
// bytes, over the whole listings of all sources whose labels these are: a class has the
// same number in all of them, and on every rank.
func labelByParent(sources []*Files) (classes []recipe.Path) {
	numbers := map[string]int64{}
	for _, s := range sources {
		for i := range s.Table.Len() {
			numbers[s.Table.Parent(i)] = 0
		}
	}
	for name := range numbers {
		classes = append(classes, recipe.Path(name))
	}
	slices.Sort(classes)
	for n, name := range classes {
		numbers[string(name)] = int64(n)
	}
	for _, s := range sources {
		s.Labels = make([]int64, s.Table.Len())
		for i := range s.Labels {
			s.Labels[i] = numbers[s.Table.Parent(i)]
		}
	}
	return classes
}
