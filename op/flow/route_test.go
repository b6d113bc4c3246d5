package flow_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/internal/leak"
	"github.com/headrace/headrace/internal/loadertest"
	"github.com/headrace/headrace/internal/phototest"
	"github.com/headrace/headrace/pipe"
	"github.com/headrace/headrace/recipe"
	"github.com/headrace/headrace/sample"
)

// byKey routes by the names of files; those from 012.jpg on are taken by none.
func byKey(t *testing.T, root, failures string) recipe.Recipe {
	return loadertest.Recipe(t, `{"files":{"pattern":%q,"root":"/","label":"parent"}},
		{"route":{"by":"key","branches":[{"when":["*00?.jpg"],"steps":["decode_image"]},{"when":["**/class0/01[01].jpg","**/class1/01[01].jpg"],"steps":["decode_image","random_flip"]}]}%s},
		{"center_crop":{"size":8}},{"batch":{"size":4}}`, root, failures)
}

func TestSamplesThatNoBranchTakes(t *testing.T) {
	leak.Check(t)
	root := phototest.Folder(t, 14)
	for failures, c := range map[string]struct{ rows, lost, replaced int64 }{
		"":                                   {},
		`,"failures":{"on_error":"skip"}`:    {12, 2, 0},
		`,"failures":{"on_error":"replace"}`: {14, 0, 2},
	} {
		var bad []string
		config := headrace.Config{Epochs: new(1), Workers: new(3)}
		l := loadertest.Open(t, byKey(t, root, failures), config, headrace.Options{
			Lost: func(l headrace.Lost) { bad = append(bad, filepath.Base(l.Key)+" in "+l.Stage) },
		})
		if failures == "" {
			_, err := loadertest.RowsUntilError(t, l)
			if want := `012.jpg" (index 6): headrace: no branch of route matches this sample, whose key is "`; !strings.Contains(err.Error(), want) {
				t.Errorf("%v, expected %s", err, want)
			}
			continue
		}
		keys := loadertest.Keys(t, l)
		for _, key := range keys {
			if strings.Compare(filepath.Base(key), "012.jpg") >= 0 {
				t.Errorf("%s: %s came through", failures, key)
			}
		}
		n, e := int64(len(keys)), l.Epoch()
		if n != c.rows || e.Lost != c.lost || e.Replaced != c.replaced || fmt.Sprint(bad) != "[012.jpg in route 013.jpg in route]" {
			t.Errorf("%s: %d rows, %+v, %v", failures, n, e, bad)
		}
	}
}

// A merge tells of a bad sample when its turn comes, and not at the end of the other
// sources.
func TestMergesFailAtTheSample(t *testing.T) {
	leak.Check(t)
	roots := [2]string{phototest.Folder(t, 40), phototest.Folder(t, 6)}
	phototest.Spoil(t, roots[1], "003.jpg")
	r := loadertest.Recipe(t, `{"merge":{"of":[[{"files":{"pattern":%q,"root":"/"},"name":"first"},{"shuffle":{"seed":3}}],
		[{"files":{"pattern":%q,"root":"/"},"name":"second"}]]}},"decode_image",{"center_crop":{"size":16}},{"batch":{"size":2}}`,
		roots[0], roots[1])
	n, err := loadertest.RowsUntilError(t, loadertest.Open(t, r, headrace.Config{Epochs: new(1)}, headrace.Options{}))
	paths := loadertest.Photographs(t, roots[1])
	at := slices.IndexFunc(paths, func(p string) bool { return strings.HasSuffix(p, "003.jpg") })
	var bad *sample.Error
	var failed *pipe.StageError
	if !errors.As(err, &bad) || !errors.As(err, &failed) || bad.Index != int64(at) || bad.Key != paths[at] {
		t.Fatal(err)
	}
	if n != 2*at {
		t.Errorf("%d samples came before it, expected %d", n, 2*at)
	}
}
