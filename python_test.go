//go:build cgo

package headrace

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"image"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"headrace/extern"
	"headrace/internal/leak"
	"headrace/internal/tier"
	"headrace/pipe"
	"headrace/sample"
	"headrace/tensor"
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

// pictureFolder has n PNGs of different sizes in two folders, whose names begin with their numbers.
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

// asked is what Python makes of pictures when no engine is there: a sample for each path.
func asked(t *testing.T, function string, fields []string, paths []string) (all []map[string]any) {
	t.Helper()
	i := pythonHere(t)
	c := exec.Command(i.Executable, "testdata/python/stages.py")
	var questions bytes.Buffer
	for n, p := range paths {
		fmt.Fprintln(&questions, shownJSON(map[string]any{"path": p, "label": n * 2 / len(paths), "function": function, "fields": fields}))
	}
	c.Stdin, c.Stderr, c.Env = &questions, os.Stderr, i.Environment
	out, err := c.Output()
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(out)) {
		var answers map[string]struct {
			Text  *string
			DType string
			Shape []int
			Data  string
		}
		if err := json.Unmarshal([]byte(line), &answers); err != nil {
			t.Fatal(err)
		}
		s := map[string]any{}
		for name, a := range answers {
			if s[name] = a.Text; a.Text == nil {
				data, _ := base64.StdEncoding.DecodeString(a.Data)
				s[name] = shownArray(a.DType, a.Shape, data)
			} else {
				s[name] = *a.Text
			}
		}
		all = append(all, s)
	}
	return all
}

// shownArray is an array in a line: its bytes where they are few, else their digest.
func shownArray(dtype string, shape tensor.Shape, data []byte) string {
	if len(data) > 32 {
		return fmt.Sprintf("%s %v %x", dtype, shape, sha256.Sum256(data))
	}
	return fmt.Sprintf("%s %v %v", dtype, shape, data)
}

func shownJSON(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(b)
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

// python runs what is left of the epochs of a loader, and looks that nothing is held at the end.
func runPython(t *testing.T, l *Loader) (all []map[string]any) {
	t.Helper()
	for {
		b, err := l.Next(t.Context())
		switch err {
		case nil:
			all = append(all, samplesOf(b, l)...)
			b.Release()
		case io.EOF:
		case pipe.ErrDone:
			return all
		default:
			t.Fatal(err)
		}
	}
}

// nothingHeld looks that all bytes have come back.
func nothingHeld(t *testing.T, l *Loader) {
	t.Helper()
	l.Close()
	if n := l.Stats().Memory.Used; n != 0 {
		t.Errorf("%d bytes of the budget are still held", n)
	}
	if n := l.work.Host.Heap.Held(); n != 0 {
		t.Errorf("%d bytes of the heap are still held, behind Close", n)
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

func TestMapIsWhatPythonSays(t *testing.T) {
	leak.Check(t)
	root, paths := pictureFolder(t, 23)
	for _, c := range []struct {
		what, function, steps string
		fields                []string
		gone                  []string
	}{
		{"an image", "smooth", `"decode_image",{"map":{"function":"stages:smooth","fields":["image"],"gives":{"image":{"dtype":"uint8","shape":[10,12,3]}}}},{"batch":{"size":4}}`, []string{"image"}, []string{"key", "label"}},
		{"an image, probed", "smooth", `"decode_image",{"map":{"function":"stages:smooth","fields":["image"]}},{"batch":{"size":4}}`, []string{"image"}, []string{"key", "label"}},
		{"a sample", "whole", `"decode_image",{"map":{"function":"stages:whole","gives":{"key":"text","label":{"dtype":"int64"},"mean":{"dtype":"float64"},"corner":{"dtype":"uint8","shape":[4,5,3]},
			"histogram":{"dtype":"int32","shape":[8]},"height":{"dtype":"uint16"},"dark":{"dtype":"bool"},"name":"text"}}},{"batch":{"size":5}}`, nil, nil},
		{"a sample, probed", "whole", `"decode_image",{"map":{"function":"stages:whole"}},{"batch":{"size":5}}`, nil, nil},
	} {
		t.Run(c.what, func(t *testing.T) {
			want := asked(t, c.function, c.fields, paths)
			for _, workers := range []int{1, 2, 5} {
				steps := strings.Replace(c.steps, `"function"`, fmt.Sprintf(`"workers":%d,"function"`, workers), 1)
				l, got := onePass(t, root, steps, Config{}, Options{})
				for _, s := range got {
					for _, name := range c.gone {
						delete(s, name)
					}
				}
				if fmt.Sprint(got) != fmt.Sprint(want) {
					t.Errorf("with %d workers: %v\nwant %v", workers, got, want)
				}
				nothingHeld(t, l)
			}
		})
	}
}

// What a function returns twice, or under another name, has memory of its own when the next one works in place.
func TestWhatIsReturnedTwiceIsNotShared(t *testing.T) {
	leak.Check(t)
	root, _ := pictureFolder(t, 6)
	r := parseRecipe(t, `{"files":{"pattern":%q,"root":"/","label":"parent"}},"decode_image",{"resize":{"size":[6,5]}},{"map":{"function":"stages:twice","fields":["image"],"to":["a","b"]}},
		{"map":{"function":"stages:negative","fields":["a"]}},{"map":{"function":"stages:swap","fields":["label","key"],"to":["key","label"]}},{"batch":{"size":4}}`, root)
	l := openLoader(t, r, Config{Epochs: new(1)}, Options{Python: pythonHere(t)})
	rows := 0
	for {
		b, err := l.Next(t.Context())
		if err != nil {
			break
		}
		image, _ := b.Tensor("image")
		a, _ := b.Tensor("a")
		same, _ := b.Tensor("b")
		for i := range a.Data {
			if a.Data[i] != 255-image.Data[i] || same.Data[i] != image.Data[i] {
				t.Fatalf("byte %d: %d, %d, %d", i, image.Data[i], a.Data[i], same.Data[i])
			}
		}
		if key := b.Text("key"); len(key) != b.Rows() || !strings.HasSuffix(key[0], ".png") {
			t.Errorf("%v", key)
		}
		rows += b.Rows()
		b.Release()
	}
	if rows != 6 {
		t.Errorf("%d rows", rows)
	}
	nothingHeld(t, l)
}
