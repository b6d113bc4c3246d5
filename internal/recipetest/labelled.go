package recipetest

import (
	"testing"

	"github.com/headrace/headrace/recipe"
)

// Labelled parses steps that come after files with labels.
func Labelled(t *testing.T, steps string) recipe.Recipe {
	t.Helper()
	r, err := recipe.Parse([]byte(`{"headrace":1,"steps":[{"files":{"pattern":"a","label":"parent"}},` + steps + `]}`))
	if err != nil {
		t.Fatalf("%s: %v", steps, err)
	}
	return r
}
