package recipe_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/headrace/headrace/recipe"
)

// Shapes are hostile input, too: their product may be any number, also 0.
func TestColumnsOfVastShapes(t *testing.T) {
	for _, text := range []string{
		`{"boxes": {"shape": [null, 2305843009213693952], "int64": [[1]]}}`,
		`{"boxes": {"shape": [2305843009213693952], "int64": [[]]}}`,
		`{"boxes": {"shape": [null, 3000000000], "int64": []}}`,
		`{"boxes": {"shape": [4294967296, 4294967296], "bool": [[true]]}}`,
		`{"boxes": {"shape": [65536, null, 65536], "bool": [[]]}}`,
		`{"boxes": {"shape": [9223372036854775807, 9223372036854775807], "float32": []}}`,
		`{"boxes": {"shape": [268435456], "int64": [[1]]}}`, // one byte too many
	} {
		var c recipe.Columns
		if err := json.Unmarshal([]byte(text), &c); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		errs := c.Check(c[0].Len(), nil)
		if len(errs) != 1 || !strings.Contains(errs[0].Error(), `has "boxes" with the shape [`) ||
			!strings.Contains(errs[0].Error(), "which is more than a value can have: at most 2147483647 bytes") {
			t.Errorf("%s: %v", text, errs)
		}
	}
	var c recipe.Columns
	if err := json.Unmarshal([]byte(`{"boxes": {"shape": [null, 268435455], "int64": [[], [1]]}}`), &c); err != nil {
		t.Fatal(err)
	}
	if errs := c.Check(2, nil); len(errs) != 1 || !strings.Contains(errs[0].Error(), `has 1 numbers as value 1 of "boxes"`) {
		t.Errorf("the largest that fits: %v", errs)
	}
}
