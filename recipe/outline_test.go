package recipe_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/headrace/headrace/op/image"
	"github.com/headrace/headrace/op/input"
	"github.com/headrace/headrace/recipe"
)

func TestOutlineHasALineForEachStep(t *testing.T) {
	r := recipe.Recipe{Seed: 5, Steps: []recipe.Step{files, {Op: "shuffle"}, decode, resize, crop, batch}}
	got := strings.Join(r.Outline(), "\n")
	want := `^files\(pattern="data", label="parent"\) [0-9a-f]{8}
shuffle\(seed=5\) [0-9a-f]{8}
decode_image [0-9a-f]{8}
resize\(size=256\) [0-9a-f]{8}
center_crop\(size=224\) [0-9a-f]{8}
batch\(size=32\) [0-9a-f]{8}$`
	if !regexp.MustCompile(want).MatchString(got) {
		t.Errorf("got %s", got)
	}
	if tree := treeRecipe(); len(tree.Outline()) != count(tree) {
		t.Errorf("%d lines for %d steps", len(tree.Outline()), count(tree))
	}
}

func count(r recipe.Recipe) (n int) {
	for n = range r.All() {
	}
	return n
}

// The outline says which step it is that changes the fingerprint.
func TestOutlineChangesWhereTheFingerprintDoes(t *testing.T) {
	base := recipe.Recipe{Steps: []recipe.Step{files, {Op: "shuffle"}, decode, resize, crop, batch}}
	many := func(last recipe.Path) recipe.Step {
		return recipe.Step{Args: &input.Files{Paths: []recipe.Path{"a", "b", "c", "d", last}}}
	}
	for name, c := range map[string]struct {
		at   int
		step recipe.Step
	}{
		"another size":     {3, recipe.Step{Args: &image.Resize{Size: recipe.Size{Height: 255}}}},
		"a name":           {4, recipe.Step{Name: "crop", Args: crop.Args}},
		"a long list":      {0, many("e")},
		"its last element": {0, many("f")},
	} {
		other := base
		other.Steps = slices.Clone(base.Steps)
		other.Steps[c.at] = c.step
		for i, line := range other.Outline() {
			if same := line == base.Outline()[i]; same != (i != c.at) {
				t.Errorf("%s: step %d is %s", name, i+1, line)
			}
		}
	}
	if (recipe.Recipe{Steps: []recipe.Step{many("e")}}).Outline()[0] == (recipe.Recipe{Steps: []recipe.Step{many("f")}}).Outline()[0] {
		t.Error("lists that differ in what is not shown have one outline")
	}
}
