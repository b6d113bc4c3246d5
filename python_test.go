//go:build cgo

package headrace_test

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"image"
	"os"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/headrace/headrace"
	"github.com/headrace/headrace/extern"
	"github.com/headrace/headrace/internal/leak"
	"github.com/headrace/headrace/internal/tier"
	"github.com/headrace/headrace/op/python"
	"github.com/headrace/headrace/sample"
	"github.com/headrace/headrace/tensor"
)

// pythonHere is an interpreter whose workers find the functions of testdata/python.
func pythonHere(t testing.TB, environment ...string) *extern.Interpreter {
	t.Helper()
	tier.StartsProcesses(t)
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	i := &extern.Interpreter{Executable: filepath.Join(here, ".venv/bin/python")}
	if _, err := os.Stat(i.Executable); err != nil {
		i.Executable = "python3"
	}
	i.Environment = append(os.Environ(), "PYTHONDONTWRITEBYTECODE=1", "PYTHONPATH="+filepath.Join(here, "python/src")+":"+filepath.Join(here, "testdata/python"))
	i.Environment = append(i.Environment, environment...)
	return i
}

// pictureFolder has n PNGs of different sizes in two folders, whose names begin with
// their numbers.
func pictureFolder(t *testing.T, n int) (root string, paths []string) {
	t.Helper()
	root = t.TempDir()
	for i := range n {
		folder := filepath.Join(root, fmt.Sprint("class", i*2/n))
		if err := os.MkdirAll(folder, 0o755); err != nil {
			t.Fatal(err)
		}
		paths = append(paths, filepath.Join(folder, fmt.Sprintf("%03d.png", i)))
		drawPNG(t, paths[i], image.NewNRGBA(image.Rect(0, 0, 20+i%7, 15+i*3%11)))
	}
	return root, paths
}

// shownArray is an array in a line: its bytes where they are few, else their digest.
func shownArray(dtype string, shape tensor.Shape, data []byte) string {
	if len(data) > 32 {
		return fmt.Sprintf("%s %v %x", dtype, shape, sha256.Sum256(data))
	}
	return fmt.Sprintf("%s %v %v", dtype, shape, data)
}

// samplesOf are the rows of a batch, in the form of asked.
func samplesOf(b *Batch, l *Loader) (all []map[string]any) {
	for row := range b.Rows() {
		s := map[string]any{}
		for _, f := range l.Info().Fields {
			if f.Kind == sample.Text {
				s[f.Name] = b.Text(f.Name)[row]
			} else {
				x, _ := b.Tensor(f.Name)
				x = x.Row(row)
				s[f.Name] = shownArray(x.DType.String(), x.Shape, x.Data)
			}
		}
		all = append(all, s)
	}
	return all
}

// python runs what is left of the epochs of a loader, and looks that nothing is held at
// the end.
func runPython(t *testing.T, l *Loader) (all []map[string]any) {
	t.Helper()
	for b := range inAll(t, l) {
		all = append(all, samplesOf(b, l)...)
	}
	return all
}

// nothingHeld looks that all bytes have come back.
func nothingHeld(t *testing.T, l *Loader) {
	t.Helper()
	l.Close()
	if n := l.Stats().Memory.Used; n != 0 {
		t.Errorf("%d bytes of the budget are still held", n)
	}
	if n := python.HostOf(l.Work()).Heap.Held(); n != 0 {
		t.Errorf("%d bytes of the heap are still held, after Close", n)
	}
}

func onePass(t *testing.T, root, steps string, c Config, o Options) (*Loader, []map[string]any) {
	t.Helper()
	if c.Epochs == nil {
		c.Epochs = new(1)
	}
	if o.Python == nil {
		o.Python = pythonHere(t)
	}
	l := openLoader(t, parseRecipe(t, `{"files":{"pattern":%q,"root":"/","label":"parent"}},`+steps, root), c, o)
	return l, runPython(t, l)
}

// troubles are what the function told does to samples: files in a folder, each with
// what is to happen at one call after the other.
func troubles(t *testing.T, what map[int]string) (environment string) {
	t.Helper()
	folder := t.TempDir()
	for i, text := range what {
		if err := os.WriteFile(filepath.Join(folder, fmt.Sprintf("%03d.png", i)), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return "STAGES_TROUBLE=" + folder
}

// numbersOf are the numbers in the names of files.
func numbersOf(samples []map[string]any) (all []int) {
	for _, s := range samples {
		n := 0
		fmt.Sscanf(filepath.Base(s["key"].(string)), "%d", &n)
		all = append(all, n)
	}
	return all
}

// batchesOf are the batches that are left, and the states at their boundaries.
func batchesOf(t *testing.T, l *Loader) (all []string, states []State) {
	t.Helper()
	states = walk(t, l, func(b *Batch) { all = append(all, fmt.Sprint(b.Epoch(), samplesOf(b, l))) })
	return all, states
}

// walk shows the batches that are left. It returns the states at their boundaries.
func walk(t *testing.T, l *Loader, look func(*Batch)) (states []State) {
	t.Helper()
	states = append(states, l.State())
	for b := range inAll(t, l) {
		look(b)
		states = append(states, l.State())
	}
	return states
}

// openObject opens a loader of a recipe whose objects are in testdata/python/sources.py.
func openObject(t *testing.T, steps string, c Config, o Options) *Loader {
	t.Helper()
	if c.Epochs == nil {
		c.Epochs = new(1)
	}
	o.Python = pythonHere(t)
	return openLoader(t, parseRecipe(t, steps), c, o)
}

// numbersIn are the values of an int64 field of a batch.
func numbersIn(b *Batch, name string) (all []int64) {
	x, _ := b.Tensor(name)
	for i := range b.Rows() {
		all = append(all, int64(binary.NativeEndian.Uint64(x.Data[8*i:])))
	}
	return all
}

// numbersOfEpoch takes an epoch's batches, as their numbers.
func numbersOfEpoch(t *testing.T, l *Loader, name string) (all [][]int64) {
	t.Helper()
	for b := range inEpoch(t, l) {
		all = append(all, numbersIn(b, name))
	}
	return all
}

func numbersUpTo(n int) string {
	return fmt.Sprintf(`{"source":{"function":"sources:Numbers","length":%d,"gives":{"x":{"dtype":"float32","shape":[4]},"n":{"dtype":"int64"},"name":"text"}}},`, n)
}

// What workers share, and what the budget counts, is free again when a loader is closed:
// after all batches, after a few, and after a failure; whatever functions do.
func TestNothingIsHeldAtTheEnd(t *testing.T) {
	leak.Check(t)
	root, _ := pictureFolder(t, 16)
	files := fmt.Sprintf(`{"files":{"pattern":%q,"root":"/","label":"parent"}},"decode_image",{"resize":{"size":[8,8]}},`, root)
	const told = `{"map":{"function":"stages:told","workers":2,"gives":{"key":"text","image":{"dtype":"uint8","shape":[8,8,3]}}}%s},`
	bad := map[int]string{2: "die", 4: "raise", 5: "exit", 7: "misfit"}
	skip := Config{OnError: Skip, MaxErrors: ErrorCount(100)}
	for what, c := range map[string]struct {
		steps  string
		config Config
	}{
		"map":                {files + fmt.Sprintf(told, ""), skip},
		"raise":              {files + fmt.Sprintf(told, ""), Config{}},
		"retries":            {files + fmt.Sprintf(told, `,"failures":{"retries":1,"wait":0}`), skip},
		"replace":            {files + fmt.Sprintf(told, ""), Config{OnError: Replace}},
		"filter, many":       {files + `{"filter":{"function":"stages:even","fields":["key"]}},{"flat_map":{"function":"stages:copies","workers":2}},` + fmt.Sprintf(told, ""), skip},
		"read by number":     {numbersUpTo(40), skip},
		"dies in the source": {`{"source":{"function":"sources:Deadly","length":40}},`, skip},
		"a stream":           {`{"source":{"function":"sources:Walk"}},`, skip},
		"a stream that dies": {`{"source":{"function":"sources:dies","gives":{"n":{"dtype":"int64"}}}},`, skip},
		"aggregate":          {numbersUpTo(40) + `{"aggregate":{"function":"sources:Pairs"}},`, skip},
		"dies in aggregate":  {numbersUpTo(40) + `{"aggregate":{"function":"sources:DeadlyPairs"}},`, skip},
		"collate":            {files, skip},
	} {
		t.Run(what, func(t *testing.T) {
			end := `{"batch":{"size":2}}`
			if what == "collate" {
				end = `{"batch":{"size":3,"collate":{"function":"stages:gathered","workers":2,"gives":{"names":"text","images":{"dtype":"uint8","shape":[null,8,8,3]}}}}}`
			}
			for _, most := range []int{2, 10000} {
				c.config.Epochs = new(1)
				o := Options{Python: pythonHere(t, troubles(t, bad))}
				l := openLoader(t, parseRecipe(t, "%s", c.steps+end), c.config, o)
				n := 0
				for b, err := range l.All(t.Context()) {
					if err != nil {
						break
					}
					b.Release()
					if n++; n == most {
						break
					}
				}
				if n == 0 && !strings.Contains(what, "dies") { // what a worker had made of a stream goes with it
					t.Error("nothing came")
				}
				nothingHeld(t, l)
			}
		})
	}
}
