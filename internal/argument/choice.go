package argument

import (
	"slices"
	"strings"

	"github.com/headrace/headrace/internal/words"
)

// Choice says what is wrong with an argument that accepts one of the words in its tag
// `choices`.
func Choice(args any, name, got string) error { return OneOf(name, got, choices(args, name)) }

// OneOf says what is wrong with an argument that accepts one of these words.
func OneOf(name, got string, known []string) error {
	if slices.Contains(known, got) {
		return nil
	}
	if near := words.Nearest(got, known); near != "" {
		return Wrong(name, "is %q: did you mean %q? must be %s", got, near, words.Either(known))
	}
	return Wrong(name, "is %q: must be %s", got, words.Either(known))
}

// choices returns the words that an argument accepts.
func choices(args any, name string) []string {
	for _, f := range FieldsOf(args) {
		if Name(f) == name {
			return strings.Split(f.Tag.Get("choices"), ",")
		}
	}
	return nil
}
