package headrace_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	. "github.com/headrace/headrace"
	"github.com/headrace/headrace/internal/leak"
	"github.com/headrace/headrace/internal/phototest"
	"github.com/headrace/headrace/recipe"
)

// byDigit is a toy of a batching policy: samples whose labels end in one digit come
// together.
type byDigit struct {
	Rows     int  `json:"rows" doc:"samples of a batch" min:"1"`
	DropRest bool `json:"drop_rest" doc:"whether to leave out what fills no batch"`
}

type labelled struct {
	Label int64 `field:"label"`
}

func (b *byDigit) Size() (rows, classes int) { return b.Rows, 10 }
func (b *byDigit) DropLast() bool            { return b.DropRest }

func (*byDigit) Class(_ context.Context, in labelled) (int, error) {
	switch in.Label {
	case 13:
		return 0, errors.New("thirteen")
	case 17:
		return 10, nil
	}
	return int(in.Label % 10), nil
}

func init() {
	if err := RegisterBatching("by_digit", "Samples whose labels end in one digit come together.", func() Batching[labelled] { return &byDigit{Rows: 2} }); err != nil {
		panic(err)
	}
}

// numbered is a recipe of files whose labels are their numbers.
func numbered(t *testing.T, n int, steps string) recipe.Recipe {
	t.Helper()
	folder := phototest.Folder(t, n)
	var pairs []string
	paths, err := filepath.Glob(filepath.Join(folder, "*", "*"))
	if err != nil || len(paths) != n {
		t.Fatal(paths, err)
	}
	for i, path := range paths {
		pairs = append(pairs, fmt.Sprintf("[%q,%d]", path, i))
	}
	return parseRecipe(t, `{"files":{"pairs":[`+strings.Join(pairs, ",")+`],"root":%q}},{"drop":{"fields":["bytes"]}},`+steps, folder)
}

func TestABatchingOfOnesOwn(t *testing.T) {
	leak.Check(t)
	for step, want := range map[string]int{
		`{"by_digit":{"rows":2}}`:                  20, // 4 of each digit, but 3 of two
		`"by_digit"`:                               20,
		`{"by_digit":{"rows":3}}`:                  18,
		`{"by_digit":{"rows":3,"drop_rest":true}}`: 10,
	} {
		l := openLoader(t, numbered(t, 40, step), Config{OnError: Skip, MaxErrors: recipe.ErrorCount(3), Epochs: new(1)}, Options{})
		batches := 0
		for b := range inEpoch(t, l) {
			labels, _ := b.Tensor("label")
			digits := map[uint64]bool{}
			for at := range slices.Chunk(labels.Data, 8) {
				digits[binary.NativeEndian.Uint64(at)%10] = true
			}
			if len(digits) != 1 {
				t.Errorf("%s: a batch of the digits %v", step, digits)
			}
			batches++
		}
		if batches != want {
			t.Errorf("%s: %d batches, want %d", step, batches, want)
		}
		l.Close()
	}
}

func TestABatchingOfOnesOwnResumes(t *testing.T) {
	leak.Check(t)
	photos := phototest.Folder(t, 30)
	steps := `{"files":{"pattern":%q,"root":"/","label":"parent"}},{"shuffle":{"seed":5}},"decode_image","random_rotate90",{"resize":{"size":[8,6]}},{"by_digit":{"rows":4}}`
	checkResumes(t, steps, parseRecipe(t, steps, photos))
}

func TestABatchingThatIsNone(t *testing.T) {
	l := openLoader(t, numbered(t, 40, `"by_digit"`), Config{}, Options{})
	_, err := l.Next(t.Context())
	for err == nil {
		_, err = l.Next(t.Context())
	}
	if want := "thirteen"; !strings.Contains(err.Error(), want) {
		t.Errorf("%v, want %s", err, want)
	}
	type takes struct {
		Label int64 `field:"label,take"`
	}
	if err := RegisterBatching("takes", "", func() Batching[takes] { return nil }); err == nil || !strings.Contains(err.Error(), `"label,take": what makes batches only looks at samples`) {
		t.Error(err)
	}
	if err := RegisterBatching[labelled]("none", "", nil); err == nil || !strings.Contains(err.Error(), "is nil") {
		t.Error(err)
	}
	for step, want := range map[string]string{
		`{"by_digit":{"rows":0}}`:          "rows",
		`{"by_digit":{"rows":5000000000}}`: "has batches of 5000000000 rows",
	} {
		if _, err := Open(t.Context(), numbered(t, 3, step), Config{}, Options{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", step, err, want)
		}
	}
}
