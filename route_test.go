package headrace

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/headrace/headrace/internal/leak"
	"github.com/headrace/headrace/internal/phototest"
	"github.com/headrace/headrace/pipe"
	"github.com/headrace/headrace/recipe"
	"github.com/headrace/headrace/sample"
)

// byKey routes by the names of files; those from 012.jpg on are taken by none.
func byKey(t *testing.T, root, failures string) recipe.Recipe {
	return parseRecipe(t, `{"files":{"pattern":%q,"root":"/","label":"parent"}},
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
		l := openLoader(t, byKey(t, root, failures), Config{Epochs: new(1), Workers: new(3)}, Options{Lost: func(l Lost) { bad = append(bad, filepath.Base(l.Key)+" in "+l.Stage) }})
		if failures == "" {
			_, err := rowsUntilError(t, l)
			if want := `012.jpg" (index 6): headrace: no branch of route matches this sample, whose key is "`; !strings.Contains(err.Error(), want) {
				t.Errorf("%v, expected %s", err, want)
			}
			continue
		}
		var n int64
		for _, b := range drain(t, l) {
			for _, r := range b {
				if n++; strings.Compare(filepath.Base(r.key), "012.jpg") >= 0 {
					t.Errorf("%s: %s came through", failures, r.key)
				}
			}
		}
		if e := l.Epoch(); n != c.rows || e.Lost != c.lost || e.Replaced != c.replaced || fmt.Sprint(bad) != "[012.jpg in route 013.jpg in route]" {
			t.Errorf("%s: %d rows, %+v, %v", failures, n, e, bad)
		}
	}
}

// A merge tells of a bad sample when its turn comes, and not at the end of the other
// sources.
func TestMergesFailAtTheSample(t *testing.T) {
	leak.Check(t)
	g := newGrove(t, 40, 6)
	phototest.Spoil(t, g.root(1), "003.jpg")
	l := openLoader(t, g.recipe("", `{"batch":{"size":2}}`), Config{Epochs: new(1)}, Options{})
	n, err := rowsUntilError(t, l)
	var bad *sample.Error
	var failed *pipe.StageError
	if !errors.As(err, &bad) || !errors.As(err, &failed) || failed.Source != "second" || bad.Index != int64(slices.Index(g.paths[1], bad.Key)) || !strings.HasSuffix(bad.Key, "003.jpg") {
		t.Fatal(err)
	}
	if want := 2 * slices.IndexFunc(g.paths[1], func(p string) bool { return strings.HasSuffix(p, "003.jpg") }); n != want {
		t.Errorf("%d samples came before it, expected %d", n, want)
	}
}

// rowsUntilError counts the rows before the first error, which may be the end of the
// epoch.
func rowsUntilError(t *testing.T, l *Loader) (n int, err error) {
	t.Helper()
	for {
		b, err := l.Next(t.Context())
		if err != nil {
			return n, err
		}
		n += b.Rows()
		b.Release()
	}
}
