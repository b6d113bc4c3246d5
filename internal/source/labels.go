package source

import (
	"slices"

	"github.com/headrace/headrace/recipe"
)

// Labelled is implemented by contents that know what labels of their samples mean.
type Labelled interface {
	Contents
	Unnamed() bool                  // samples have labels that are numbers without names
	ByFolder() bool                 // the name of a sample's folder is its label
	Folder(index int64) string      // its name
	Label(folders map[string]int64) // samples get the numbers of their folders
}

// numberFolders numbers the folders in which files are, in the order of their names'
// bytes, over the whole listings of all sources whose labels these are: a class has the
// same number in all of them, and on every rank.
func numberFolders(sources []Labelled) (classes []recipe.Path) {
	numbers := map[string]int64{}
	for _, s := range sources {
		for i := range s.Len() {
			numbers[s.Folder(i)] = 0
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
		s.Label(numbers)
	}
	return classes
}
