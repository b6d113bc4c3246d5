package headrace

import (
	"slices"

	"headrace/recipe"
)

// labelByParent numbers the folders in which files lie, in the order of their names' bytes, over the whole listings of all sources whose labels these are: a class has the
// same number in all of them, and on every rank.
func labelByParent(sources []*files) (classes []recipe.Path) {
	numbers := map[string]int64{}
	for _, s := range sources {
		for i := range s.table.Len() {
			numbers[s.table.Parent(i)] = 0
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
		s.labels = make([]int64, s.table.Len())
		for i := range s.labels {
			s.labels[i] = numbers[s.table.Parent(i)]
		}
	}
	return classes
}
