package recipe_test

import (
	"encoding/json"
	"testing"

	"github.com/headrace/headrace/recipe"
)

func TestMaxErrors(t *testing.T) {
	for text, want := range map[string]int{`null`: 40, `0`: 0, `7`: 7, `0.5`: 2000, `1.0`: 4000, `1e-3`: 4, `0.00725`: 29, `0.0`: 0} {
		var m recipe.MaxErrors
		if err := json.Unmarshal([]byte(text), &m); err != nil {
			t.Fatal(err)
		}
		if got := m.Limit(4000); got != want {
			t.Errorf("max_errors %s of 4000 samples tolerates %d, expected %d", text, got, want)
		}
		again, err := json.Marshal(m)
		var m2 recipe.MaxErrors
		if err != nil || json.Unmarshal(again, &m2) != nil || m2 != m {
			t.Errorf("%s was written as %s", text, again)
		}
	}
	for _, c := range []struct {
		m         recipe.MaxErrors
		n         int64
		tolerated int
	}{
		{recipe.MaxErrors{}, 100, 10}, // at least
		{recipe.MaxErrors{}, 1400, 14},
		{recipe.MaxErrors{}, 1401, 15},
		{recipe.ErrorRate(0.29), 100, 29}, // though 0.29*100 is 28.999999999999996
		{recipe.ErrorRate(0.57), 100, 57},
		{recipe.ErrorRate(0.57), 101, 57},
		{recipe.ErrorRate(1), 1 << 40, 1 << 40},
	} {
		if got := c.m.Limit(c.n); got != c.tolerated {
			t.Errorf("%+v tolerates %d of %d samples, expected %d", c.m, got, c.n, c.tolerated)
		}
	}
	for _, text := range []string{`"few"`, `[]`, `1e999`, `99999999999999999999`, `true`} {
		if err := json.Unmarshal([]byte(text), new(recipe.MaxErrors)); err == nil || err.Error() != "recipe: must be a whole number of samples or a rate like 0.01" {
			t.Errorf("%s: %v", text, err)
		}
	}
	if none := (recipe.MaxErrors{}); none.Given() || !recipe.ErrorCount(0).Given() {
		t.Error("a limit of 0 is one, none is none")
	}
}
