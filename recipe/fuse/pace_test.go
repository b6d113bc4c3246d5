package fuse_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/headrace/headrace/recipe"
	"github.com/headrace/headrace/recipe/fuse"
)

// Functions are one chain with those of the same order alone, and one whose samples pass
// each other writes no rows.
func TestChainsHaveOneOrder(t *testing.T) {
	const step = `{"map":{"function":"m:f","gives":{"x":{"dtype":"int64"}},"order":ORDER}},`
	for orders, want := range map[string][]string{
		"input input":                 {"map+map_2+batch"},
		"completion completion":       {"map+map_2", "batch"},
		"input completion":            {"map", "map_2", "batch"},
		"completion input input":      {"map", "map_2+map_3+batch"},
		"completion completion input": {"map+map_2", "map_3+batch"},
	} {
		text := `{"headrace":1,"steps":[{"source":{"function":"m:s","length":5,"gives":{"x":{"dtype":"int64"}}}},`
		for _, order := range strings.Fields(orders) {
			text += strings.ReplaceAll(step, "ORDER", `"`+order+`"`)
		}
		r, err := recipe.Parse([]byte(text + `{"batch":{"size":2}}]}`))
		if err != nil {
			t.Fatal(err)
		}
		p, err := fuse.Fuse(r)
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, part := range p.Parts() {
			names = append(names, part.Name())
		}
		if !slices.Equal(names, want) {
			t.Errorf("%s: %v, want %v", orders, names, want)
		}
		if r.Fingerprint() != paced(t, text).Fingerprint() {
			t.Errorf("%s: the order is in the fingerprint", orders)
		}
	}
}

// paced is the recipe without the orders of its steps.
func paced(t *testing.T, text string) recipe.Recipe {
	t.Helper()
	r, err := recipe.Parse([]byte(text + `{"batch":{"size":2}}]}`))
	if err != nil {
		t.Fatal(err)
	}
	r.Steps = recipe.Unpaced(r.Steps)
	return r
}
