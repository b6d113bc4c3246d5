package headrace

import (
	"slices"

	"headrace/recipe"
	"headrace/store"
)

// labelByParent numbers the folders in which files lie, in the order of their names' bytes, over the whole listing: a class has the same number
// on every rank.
func labelByParent(t *store.Table) (labels []int64, classes []recipe.Path) {
	numbers := map[string]int64{}
	for i := range t.Len() {
		numbers[t.Parent(i)] = 0
	}
	for name := range numbers {
		classes = append(classes, recipe.Path(name))
	}
	slices.Sort(classes)
	for n, name := range classes {
		numbers[string(name)] = int64(n)
	}
	labels = make([]int64, t.Len())
	for i := range labels {
		labels[i] = numbers[t.Parent(i)]
	}
	return labels, classes
}
