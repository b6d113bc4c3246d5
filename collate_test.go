//go:build cgo

package headrace

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"headrace/arena"
	"headrace/extern"
	"headrace/internal/batch"
	"headrace/internal/leak"
	"headrace/internal/record"
	"headrace/pipe"
	"headrace/recipe"
	"headrace/sample"
	"headrace/tensor"
)

// wholeOf is a batch that was made whole, by field.
func wholeOf(b *Batch, l *Loader) map[string]string {
	all := map[string]string{}
	for _, f := range l.Info().Fields {
		if f.Kind == sample.Text {
			all[f.Name] = strings.Join(b.Text(f.Name), "|")
		} else {
			x, _ := b.Tensor(f.Name)
			all[f.Name] = shownArray(x.DType.String(), x.Shape, x.Data)
		}
	}
	return all
}

// wholeBatches are the batches that are left, and the states at their boundaries.
func wholeBatches(t *testing.T, l *Loader) (all []map[string]string, states []State) {
	t.Helper()
	states = walk(t, l, func(b *Batch) { all = append(all, wholeOf(b, l)) })
	return all, states
}

func openCollate(t *testing.T, root, steps string, c Config, o Options) *Loader {
	t.Helper()
	if c.Epochs == nil {
		c.Epochs = new(1)
	}
	if o.Python == nil {
		o.Python = pythonHere(t)
	}
	return openLoader(t, parseRecipe(t, `{"files":{"pattern":%q,"root":"/","label":"parent"}},`+steps, root), c, o)
}

// paddedOf is what the function padded makes of files with these numbers, but for what it draws.
func paddedOf(files ...int) map[string]string {
	longest := 0
	for _, n := range files {
		longest = max(longest, n%5+1)
	}
	var tokens, sizes []byte
	var names []string
	for _, n := range files {
		for k := range longest {
			if k > n%5 {
				k = -1
			}
			tokens = append(tokens, byte(k), byte(k>>8), byte(k>>16), byte(k>>24))
		}
		sizes = append(sizes, byte(15+n*3%11), 0, byte(20+n%7), 0)
		names = append(names, fmt.Sprintf("%03d.png", n))
	}
	return map[string]string{
		"tokens": shownArray("int32", tensor.Shape{len(files), longest}, tokens),
		"names":  strings.Join(names, " "),
		"count":  shownArray("int64", tensor.Shape{}, []byte{byte(len(files)), 0, 0, 0, 0, 0, 0, 0}),
		"sizes":  shownArray("uint16", tensor.Shape{len(files), 2}, sizes),
	}
}

func numbers0(n, of int) (all [][]int) {
	for i := range n {
		if i%of == 0 {
			all = append(all, nil)
		}
		all[len(all)-1] = append(all[len(all)-1], i)
	}
	return all
}

const paddedGives = `,"gives":{"names":"text","tokens":{"dtype":"int32","shape":[null,null]},"count":{"dtype":"int64"},"sizes":{"dtype":"uint16","shape":[null,2]},"drawn":{"dtype":"int64"}}`

func TestCollateIsWhatPythonSays(t *testing.T) {
	leak.Check(t)
	root, _ := pictureFolder(t, 23)
	for _, c := range []struct {
		what, more string
		config     Config
		left       bool
	}{
		{"probed", `,"workers":2`, Config{}, false},
		{"given", paddedGives, Config{}, false},
		{"one worker", `,"workers":1`, Config{}, false},
		{"many workers", `,"workers":5` + paddedGives, Config{}, false},
		{"threads", `,"where":"thread","workers":3`, Config{}, false},
		{"copies", `,"copy":true`, Config{}, false},
		{"not fused", `,"workers":2`, Config{Fuse: new(false)}, false},
		{"little memory", `,"workers":2` + paddedGives, Config{Memory: new(int64(3 << 20))}, false},
		{"the last one is left out", `,"workers":2`, Config{}, true},
	} {
		t.Run(c.what, func(t *testing.T) {
			steps := fmt.Sprintf(`"decode_image",{"batch":{"size":4,"drop_last":%v,"collate":{"function":"stages:padded"%s}}}`, c.left, c.more)
			l := openCollate(t, root, steps, c.config, Options{})
			got, _ := wholeBatches(t, l)
			want := numbers0(23, 4)
			if c.left {
				want = want[:5]
			}
			if len(got) != len(want) {
				t.Fatalf("%d batches, want %d", len(got), len(want))
			}
			for i, files := range want {
				delete(got[i], "drawn")
				if want := paddedOf(files...); fmt.Sprint(got[i]) != fmt.Sprint(want) {
					t.Errorf("batch %d is %v\nwant %v", i, got[i], want)
				}
			}
			if info := l.Info(); !info.Whole || info.Rows != 4 || !info.Exact || info.BatchesPerEpoch != int64(len(want)) {
				t.Errorf("%+v", info)
			}
			if e := l.Epoch(); e.Samples != int64(min(23, 4*len(want))) || e.Batches != int64(len(want)) {
				t.Errorf("%+v", e)
			}
			nothingHeld(t, l)
		})
	}
}

// A function may be given fields, of one the values themselves, and give values in their order, or other fields by name.
func TestCollateIsGivenFields(t *testing.T) {
	leak.Check(t)
	root, _ := pictureFolder(t, 5)
	for _, c := range []struct{ collate, want string }{
		{`"function":"stages:joined","fields":["key","label"]`, `map[key:000.png 001.png 002.png label:int64 [3] [0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0]]`},
		{`"function":"stages:joined","fields":["key","label"],"gives":{"label":{"dtype":"int64","shape":[null]},"key":"text"}`, `map[key:000.png 001.png 002.png label:int64 [3] [0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0]]`},
		{`"function":"stages:stacked","fields":["label"]`, `map[label:int64 [1, 3] [0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0]]`},
		{`"function":"stages:renamed","fields":["label"]`, `map[twice:int64 [3] [0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0]]`},
		{`"function":"stages:renamed","fields":["label"],"gives":{"twice":{"dtype":"int64","shape":[null]}}`, `map[twice:int64 [3] [0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0]]`},
	} {
		l := openCollate(t, root, `{"batch":{"size":3,"collate":{`+c.collate+`}}}`, Config{}, Options{})
		got, _ := wholeBatches(t, l)
		if len(got) != 2 || fmt.Sprint(got[0]) != c.want {
			t.Errorf("%s: %v\nwant %s", c.collate, got, c.want)
		}
		nothingHeld(t, l)
	}
}

// What a first batch tells are dtypes and axes; every batch brings its extents.
func TestWhatTheFirstBatchTells(t *testing.T) {
	leak.Check(t)
	root, _ := pictureFolder(t, 3)
	l := openCollate(t, root, `"decode_image",{"batch":{"global_size":2,"collate":{"function":"stages:padded"}}}`, Config{}, Options{})
	steps := l.Recipe().Steps
	if got, want := steps[len(steps)-1].Args.(*recipe.Batch).Collate.Gives.Schema.String(), "tokens int32 [?, ?], names text, count int64, sizes uint16 [?, ?], drawn int64"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	nothingHeld(t, l)
	for steps, want := range map[string]string{
		`{"filter":{"function":"stages:nothing"}},{"batch":{"size":2,"collate":{"function":"stages:renamed","fields":["label"]}}}`: `step "batch" (#3): does not say what it gives, and no sample came there that would tell: say gives`,
		`{"batch":{"size":2,"collate":{"function":"stages:nothing"}}}`:                                                             `returned bool False, not a batch (a dict of fields)`,
		`{"batch":{"size":2,"collate":{"function":"stages:missing"}}}`:                                                             `missing`,
		`{"batch":{"size":2,"collate":{"function":"stages:smooth","fields":["image"]}}}`:                                           `step "batch" (#2): collate.fields[0] is an unknown field "image"`,
	} {
		_, err := Open(t.Context(), parseRecipe(t, `{"files":{"pattern":%q,"root":"/","label":"parent"}},`+steps, root), Config{}, Options{Python: pythonHere(t)})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", steps, err)
		}
	}
}

// In input order a run goes on with the same batches wherever it is cut, whatever the number of workers.
func TestCollateGoesOnWhereItIsCut(t *testing.T) {
	leak.Check(t)
	root, _ := pictureFolder(t, 14)
	var first string
	for _, workers := range []int{2, 1, 4} {
		steps := fmt.Sprintf(`"shuffle","decode_image",{"batch":{"size":4,"collate":{"function":"stages:padded","workers":%d%s}}}`, workers, paddedGives)
		l := openCollate(t, root, steps, Config{Epochs: new(2)}, Options{})
		whole, states := wholeBatches(t, l)
		if first == "" {
			first = fmt.Sprint(whole)
		}
		if len(whole) != 8 || fmt.Sprint(whole) != first {
			t.Fatalf("%d workers give %v\nand 2 gave %s", workers, whole, first)
		}
		if whole[0]["drawn"] == whole[1]["drawn"] || whole[0]["drawn"] == whole[4]["drawn"] {
			t.Error("batches draw the same")
		}
		for cut, s := range states {
			if workers != 2 {
				break
			}
			if err := l.Start(s, nil); err != nil {
				t.Fatal(err)
			}
			if rest, _ := wholeBatches(t, l); fmt.Sprint(rest) != fmt.Sprint(whole[cut:]) {
				t.Fatalf("cut at %d (%+v): %v\nnot %v", cut, s, rest, whole[cut:])
			}
		}
		nothingHeld(t, l)
	}
}

// In completion order every sample is in one batch, and a state is exact.
func TestCollateInCompletionOrder(t *testing.T) {
	leak.Check(t)
	root, _ := pictureFolder(t, 14)
	l := openCollate(t, root, `"decode_image",{"batch":{"size":3,"collate":{"function":"stages:padded","workers":3`+paddedGives+`}}}`, Config{Order: CompletionOrder}, Options{})
	names := func(batches []map[string]string) (all []string) {
		for _, b := range batches {
			all = append(all, strings.Fields(b["names"])...)
		}
		return all
	}
	b, err := l.Next(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	before := names([]map[string]string{wholeOf(b, l)})
	b.Release()
	if err := l.Start(l.State(), nil); err != nil {
		t.Fatal(err)
	}
	rest, _ := wholeBatches(t, l)
	all := slices.Sorted(slices.Values(append(before, names(rest)...)))
	if len(slices.Compact(all)) != 14 || len(before) != 3 {
		t.Errorf("%v, and then %v", before, rest)
	}
	nothingHeld(t, l)
}

// Ranks have the same batches as without collate.
func TestCollateOfRanks(t *testing.T) {
	leak.Check(t)
	root, _ := pictureFolder(t, 17)
	for _, size := range []string{`"size":3`, `"global_size":6`} {
		for rank := range 2 {
			c := Config{WorldSize: 2, Rank: rank}
			_, plain := onePass(t, root, `"shuffle",{"map":{"function":"stages:kept","gives":{"key":"text"}}},{"batch":{`+size+`}}`, c, Options{})
			l := openCollate(t, root, `"shuffle",{"batch":{`+size+`,"collate":{"function":"stages:joined","fields":["key","label"]}}}`, c, Options{})
			whole, _ := wholeBatches(t, l)
			var got, want []string
			for _, b := range whole {
				got = append(got, strings.Fields(b["key"])...)
			}
			for _, s := range plain {
				want = append(want, filepath.Base(s["key"].(string)))
			}
			if !slices.Equal(got, want) || int64(len(whole)) != l.Info().BatchesPerEpoch || len(whole) != 3 {
				t.Errorf("rank %d, %s: %d batches of %v, want %v", rank, size, len(whole), got, want)
			}
			nothingHeld(t, l)
		}
	}
}

const gatheredStep = `"decode_image",{"resize":{"size":[8,8]}},{"batch":{"size":2,"collate":{"function":"stages:gathered","workers":2,"gives":{"names":"text","images":{"dtype":"uint8","shape":[null,8,8,3]}}}}%s}`

// Whatever a function or its worker does to one batch, that one alone is lost, with what is known of it; the others come, in their order.
func TestTroubleOfOneBatch(t *testing.T) {
	leak.Check(t)
	root, _ := pictureFolder(t, 14)
	var mu sync.Mutex
	lost := map[string]error{}
	o := Options{
		Python: pythonHere(t, troubles(t, map[int]string{2: "die", 5: "raise", 7: "misfit", 11: "hang"})),
		Lost:   func(l Lost) { mu.Lock(); defer mu.Unlock(); lost[filepath.Base(l.Key)] = l.Err },
	}
	letters := filepath.Join(t.TempDir(), "letters")
	l := openCollate(t, root, fmt.Sprintf(gatheredStep, `,"failures":{"on_error":"skip","max_errors":4,"time_limit":3}`), Config{DeadLetters: recipe.Path(letters)}, o)
	got, _ := wholeBatches(t, l)
	var names []string
	for _, b := range got {
		names = append(names, b["names"])
	}
	if want := []string{"000.png 001.png", "008.png 009.png", "012.png 013.png"}; !slices.Equal(names, want) {
		t.Errorf("%q came, want %q", names, want)
	}
	if len(lost) != 8 || l.Epoch().Lost != 8 || l.Epoch().Samples != 6 {
		t.Errorf("%d were lost: %v; %+v", len(lost), lost, l.Epoch())
	}
	var died *extern.WorkerError
	if !errors.As(lost["003.png"], &died) {
		t.Errorf("die: %v", lost["003.png"])
	}
	var raised *extern.CallError
	var bad *sample.Error
	if err := lost["005.png"]; !errors.As(err, &raised) || raised.Message != "no good: 005.png" || !errors.As(err, &bad) || filepath.Base(bad.Key) != "004.png" || bad.Index != 4 ||
		!strings.Contains(err.Error(), "the first of 2 samples that batch was given") {
		t.Errorf("raise: %v", err)
	}
	if err := lost["006.png"]; err == nil || !strings.Contains(err.Error(), "float32 [2, 8, 8, 3]") {
		t.Errorf("misfit: %v", err)
	}
	var late *extern.LimitError
	if !errors.As(lost["010.png"], &late) {
		t.Errorf("hang: %v", lost["010.png"])
	}
	nothingHeld(t, l)
	file, err := os.Open(letters)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	lines := 0
	for s := bufio.NewScanner(file); s.Scan(); lines++ {
	}
	if lines != 8 {
		t.Errorf("%d dead letters", lines)
	}
}

func TestRetriesAndRaiseOfCollate(t *testing.T) {
	leak.Check(t)
	root, _ := pictureFolder(t, 8)
	t.Run("retries", func(t *testing.T) {
		o := Options{Python: pythonHere(t, troubles(t, map[int]string{2: "die ok", 5: "raise raise ok"}))}
		l := openCollate(t, root, fmt.Sprintf(gatheredStep, `,"failures":{"retries":2,"wait":0}`), Config{}, o)
		if got, _ := wholeBatches(t, l); len(got) != 4 {
			t.Errorf("%v", got)
		}
		if i := slices.IndexFunc(l.Stats().Stages, func(s pipe.StageStats) bool { return s.Name == "batch" }); l.Stats().Stages[i].Retried != 2 {
			t.Errorf("%+v", l.Stats().Stages[i])
		}
		nothingHeld(t, l)
	})
	// One beyond max_errors, which counts batches here, and the loader's, which counts samples.
	for what, c := range map[string]struct {
		failures string
		config   Config
	}{
		"max_errors of the step": {`,"failures":{"on_error":"skip","max_errors":1}`, Config{}},
		"max_errors":             {``, Config{OnError: Skip, MaxErrors: ErrorCount(3)}},
	} {
		o := Options{Python: pythonHere(t, troubles(t, map[int]string{3: "raise", 6: "raise"}))}
		l := openCollate(t, root, fmt.Sprintf(gatheredStep, c.failures), c.config, o)
		var err error
		batches := 0
		for ; err == nil; batches++ {
			var b *Batch
			if b, err = l.Next(t.Context()); err == nil {
				b.Release()
			}
		}
		if batches != 3 || !errors.Is(err, ErrTooManyLost) {
			t.Errorf("%s: %d batches, %v", what, batches-1, err)
		}
		nothingHeld(t, l)
	}
}

// A batch cannot be replaced. Samples before it are.
func TestCollateIsNotReplaced(t *testing.T) {
	leak.Check(t)
	root, _ := pictureFolder(t, 8)
	var replaced []string
	o := Options{Python: pythonHere(t, troubles(t, map[int]string{1: "raise", 4: "raise"})), Lost: func(l Lost) { replaced = append(replaced, filepath.Base(l.Key)) }}
	steps := strings.Replace(toldStep, `{"batch":{"size":4}}`, `{"batch":{"size":4,"collate":{"function":"stages:joined","fields":["key","image"],"gives":{"key":"text","image":{"dtype":"uint8","shape":[null,8,8,3]}}}}}`, 1)
	l := openCollate(t, root, fmt.Sprintf(steps, ""), Config{OnError: Replace}, o)
	if got, _ := wholeBatches(t, l); len(got) != 2 || len(replaced) != 2 || l.Epoch().Replaced != 2 || strings.Contains(got[0]["key"], "001") {
		t.Errorf("%v came, in the place of %v", got, replaced)
	}
	nothingHeld(t, l)

	o.Python = pythonHere(t, troubles(t, map[int]string{3: "raise"}))
	l = openCollate(t, root, fmt.Sprintf(gatheredStep, ""), Config{OnError: Replace}, o)
	b, err := l.Next(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	b.Release()
	if _, err = l.Next(t.Context()); err == nil || !strings.Contains(err.Error(), `on_error="replace" has no other batch to put in its place`) || !strings.Contains(err.Error(), "no good: 003.png") {
		t.Errorf("%v", err)
	}
	nothingHeld(t, l)
}

// A batch that is larger than the first one takes a slot of its own, which goes with it.
func TestBatchesThatDoNotFit(t *testing.T) {
	leak.Check(t)
	root, _ := pictureFolder(t, 20)
	l := openCollate(t, root, `{"batch":{"size":2,"collate":{"function":"stages:growing","fields":["key"],"workers":2}}}`, Config{}, Options{})
	if n := l.Info().SlotBytes; n != 128 { // twice a first batch of one byte and nothing
		t.Errorf("slots of %d bytes", n)
	}
	var held []*Batch
	for n := 0; n < 20; n += 2 {
		b, err := l.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		x, _ := b.Tensor("data")
		more, _ := b.Tensor("more")
		if !x.Shape.Equal(tensor.Shape{1 + 50_000*n}) || x.Data[len(x.Data)-1] != byte(n) || !more.Shape.Equal(tensor.Shape{n, 3}) || b.Samples() != 2 || b.Alone() != (n > 0) {
			t.Errorf("%d: %v, %v, %d samples, alone: %v", n, x.Shape, more.Shape, b.Samples(), b.Alone())
		}
		if held = append(held, b); len(held) == 3 { // more than the pool has for it
			for _, b := range held {
				b.Release()
			}
			held = nil
		}
	}
	for _, b := range held {
		b.Release()
	}
	if used, slots := l.Stats().Memory.Used, l.arena.Stats(); used > 1<<20 || slots.Leased != 0 {
		t.Errorf("%d bytes are in use; %+v", used, slots)
	}
	nothingHeld(t, l)
}

// Who holds large batches is told so, by what they are.
func TestLargeBatchesThatAreHeld(t *testing.T) {
	leak.Check(t)
	root, _ := pictureFolder(t, 20)
	l := openCollate(t, root, `{"batch":{"size":2,"collate":{"function":"stages:growing","fields":["key"],"workers":1}}}`, Config{HoldLimit: new(int64(1 << 20)), Prefetch: 1}, Options{})
	var held []*Batch
	var err error
	for err == nil {
		var b *Batch
		if b, err = l.Next(t.Context()); err == nil {
			held = append(held, b)
		}
	}
	if !strings.Contains(err.Error(), "hold_limit") || len(held) < 5 || len(held) > 8 {
		t.Errorf("%d batches, and %v", len(held), err)
	}
	for _, b := range held {
		b.Release()
	}
	b, err := l.Next(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	b.Release()
	nothingHeld(t, l)
}

// A ledger has all samples of a batch, and what was drawn for it.
func TestOriginsOfCollate(t *testing.T) {
	leak.Check(t)
	root, _ := pictureFolder(t, 10)
	l := openCollate(t, root, `"shuffle","decode_image",{"batch":{"size":4,"collate":{"function":"stages:padded"}}}`, Config{}, Options{Ledger: true})
	at, err := l.Seek(t.Context(), l.Info().State, 1)
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Start(at, nil); err != nil {
		t.Fatal(err)
	}
	b, err := l.Next(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	names := strings.Fields(b.Text("names")[0])
	n := 0
	for row, o := range b.Origins() {
		if row != n || filepath.Base(o.Key) != names[row] || (len(o.Draws) == 1) != (n == 0) {
			t.Errorf("%d: %+v, and the batch is of %v", row, o, names)
		}
		n++
	}
	if n != 4 || b.Step() != 1 {
		t.Errorf("%d samples in batch %d", n, b.Step())
	}
	b.Release()
	nothingHeld(t, l)
}

// The numbers tell of the processes, whose number can be changed while the loader runs; a profile has a line for them.
func TestNumbersOfCollate(t *testing.T) {
	leak.Check(t)
	root, _ := pictureFolder(t, 24)
	steps := `"decode_image",{"batch":{"size":4,"collate":{"function":"stages:padded","workers":2` + paddedGives + `}}}`
	l := openCollate(t, root, steps, Config{Epochs: new(2)}, Options{})
	if err := l.SetWorkers("batch", 3); err != nil {
		t.Error(err)
	}
	if got, _ := wholeBatches(t, l); len(got) != 12 {
		t.Errorf("%d batches", len(got))
	}
	s := l.Stats()
	if f := s.Functions; len(f) != 1 || f[0].Stage != "batch" || f[0].Calls != 12 || f[0].BytesIn == 0 {
		t.Errorf("%+v", f)
	}
	i := slices.IndexFunc(s.Stages, func(s pipe.StageStats) bool { return s.Name == "batch" })
	if s.Stages[i].In != 12 || s.Stages[i].Workers != 3 {
		t.Errorf("%+v", s.Stages[i])
	}
	var stages []string
	for _, s := range l.Info().Stages {
		stages = append(stages, s.Name)
	}
	if want := []string{"files", "read", "decode_image", "group batch", "batch"}; !slices.Equal(stages, want) {
		t.Errorf("%q, want %q", stages, want)
	}
	nothingHeld(t, l)
	t.Setenv("HEADRACE_PYTHON", pythonHere(t).Executable)
	t.Setenv("PYTHONPATH", strings.TrimPrefix(pythonHere(t).Environment[len(pythonHere(t).Environment)-1], "PYTHONPATH="))
	r := parseRecipe(t, `{"files":{"pattern":%q,"root":"/","label":"parent"}},`+steps, root)
	report, err := Profile(t.Context(), r, Config{}, ProfileOptions{Items: 8, Workers: []int{1, 2}})
	if text := fmt.Sprint(report); err != nil || report.Items != 16 || !strings.Contains(text, "group batch") {
		t.Errorf("%v, %s", err, text)
	}
}

// Workers write into the batch itself: what lies elsewhere, and is copied, are numbers, and what does not fit.
func TestCollateIsWrittenIntoTheBatch(t *testing.T) {
	leak.Check(t)
	root, _ := pictureFolder(t, 23)
	for _, more := range []string{"", paddedGives} {
		r := parseRecipe(t, `{"files":{"pattern":%q,"root":"/","label":"parent"}},"decode_image",{"batch":{"size":4,"collate":{"function":"stages:padded","workers":2`+more+`}}}`, root)
		l, err := Open(t.Context(), r, Config{Epochs: new(1)}, Options{Python: pythonHere(t)})
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		var mu sync.Mutex
		calls := 0
		do := l.compiled.Collating.Make
		l.compiled.Collating.Make = func(ctx context.Context, a batch.Job) (batch.Made, error) {
			m, err := do(ctx, a)
			mu.Lock()
			defer mu.Unlock()
			calls++
			for i, v := range m.Values {
				if is := record.Overlap(a.Slot, v.Data); is != (len(v.Shape) > 0) {
					t.Errorf("%s %v is written into the batch: %v", l.compiled.Collating.Out[i].Name, v.Shape, is)
				}
			}
			return m, err
		}
		if err := l.Start(l.Info().State, nil); err != nil {
			t.Fatal(err)
		}
		if got, _ := wholeBatches(t, l); len(got) != 6 || calls != 6 {
			t.Errorf("%d batches in %d calls", len(got), calls)
		}
		nothingHeld(t, l)
	}
}

// Each batch in the making has a slot, as far as these take no more than half of the memory, and so it is where a number of workers is tried.
func TestSlotsOfCollate(t *testing.T) {
	leak.Check(t)
	root, _ := pictureFolder(t, 4)
	slot := int(arena.Stride(400_000 * 4))
	for _, c := range []struct {
		workers, slots int // 5 are there for any batch
		memory         int64
		trial          *trial
	}{
		{1, 6, 1 << 30, nil},
		{3, 10, 1 << 30, nil},
		{3, 7, int64(15 * slot), nil},
		{3, 5, int64(6 * slot), nil},
		{3, 2, int64(2*slot + slot/2), nil},
		{1, 20, 1 << 60, &trial{1 << 30, 8}},
		{1, 10, 1 << 60, &trial{int64(20 * slot), 8}},
	} {
		steps := `{"files":{"pattern":%q,"root":"/","label":"parent"}},{"batch":{"size":2,"collate":{"function":"stages:renamed","fields":["label"],"workers":%d,"gives":{"twice":{"dtype":"int32","shape":[400000]}}}}}`
		l, err := Open(t.Context(), parseRecipe(t, steps, root, c.workers), Config{Memory: &c.memory}, Options{Python: pythonHere(t), trial: c.trial})
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		if n := l.arena.Stats().Slots; n != c.slots {
			t.Errorf("%d workers and %d slots of memory have %d slots, want %d", c.workers, c.memory/int64(slot), n, c.slots)
		}
	}
}
