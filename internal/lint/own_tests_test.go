package lint

import (
	"go/ast"
	"go/token"
	"maps"
	"path"
	"slices"
	"strings"
	"testing"
)

// unproved is how many lines are in packages of 250 lines or more whose own tests are
// less than a fifth as long: what they do is asked from floors above, if at all. It only
// falls.
const unproved = 4_800

// TestPackagesHaveTestsOfTheirOwn holds that tests come and go with what they test.
func TestPackagesHaveTestsOfTheirOwn(t *testing.T) {
	product, tests := map[string]int{}, map[string]int{}
	eachGoFile(t, func(rel string, text []byte, _ *ast.File, _ *token.FileSet) {
		folder := path.Dir(rel)
		if strings.HasPrefix(rel, "bench/") || strings.HasPrefix(rel, "examples/") || strings.Contains(rel, "testdata") || strings.Contains(folder, "test") {
			return
		}
		if lines := strings.Count(string(text), "\n"); strings.HasSuffix(rel, "_test.go") {
			tests[folder] += lines
		} else {
			product[folder] += lines
		}
	})
	sum := 0
	for _, folder := range slices.Sorted(maps.Keys(product)) {
		if n := product[folder]; n >= 250 && tests[folder] < n/5 {
			sum += n
			t.Logf("%s: %d lines, %d of tests", folder, n, tests[folder])
		}
	}
	switch {
	case sum > unproved:
		t.Errorf("packages with %d lines have next to no tests of their own, and %d may (-v lists them): "+
			"move the tests to what they test", sum, unproved)
	case sum < unproved*3/4:
		t.Errorf("packages with %d lines have next to no tests of their own: lower the limit of %d", sum, unproved)
	}
}
