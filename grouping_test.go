package headrace_test

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	. "github.com/headrace/headrace"
	"github.com/headrace/headrace/internal/leak"
	"github.com/headrace/headrace/internal/npy"
	"github.com/headrace/headrace/internal/phototest"
	"github.com/headrace/headrace/recipe"
	"github.com/headrace/headrace/tensor"
)

// sequences writes files of int32 with these lengths into folders of two classes: file
// i holds 1000·i, 1000·i+1, …
func sequences(t *testing.T, lengths ...int) (root string) {
	t.Helper()
	root = t.TempDir()
	for i, n := range lengths {
		file := npy.Write(tensor.Int32, tensor.Shape{n})
		for k := range n {
			file = binary.LittleEndian.AppendUint32(file, uint32(1000*i+k))
		}
		name := filepath.Join(root, fmt.Sprint("class", i%2), fmt.Sprintf("%03d.npy", i))
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, file, 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

var beforeClass = regexp.MustCompile(`/[^"]*(/class)`)

// shownBatch is all of a batch as text.
func shownBatch(t *testing.T, b *Batch) string {
	t.Helper()
	var s strings.Builder
	for _, f := range b.Inside().Slots.Layout.Fields {
		if f.DType == tensor.Invalid {
			var names []string
			for _, key := range b.Text(f.Name) {
				names = append(names, beforeClass.ReplaceAllString(key, "$1"))
			}
			fmt.Fprintln(&s, f.Name, names)
			continue
		}
		a, _ := b.Tensor(f.Name)
		if err := a.Check(); err != nil {
			t.Fatal(err)
		}
		switch a.DType {
		case tensor.Int32:
			v, err := tensor.Values[int32](a)
			fmt.Fprintln(&s, f.Name, a.Shape, v, err)
		case tensor.Int64:
			v, err := tensor.Values[int64](a)
			fmt.Fprintln(&s, f.Name, a.Shape, v, err)
		default:
			fmt.Fprintf(&s, "%s %v %x\n", f.Name, a.Shape, a.Data)
		}
	}
	return s.String()
}

// epochOf returns the batches that are left of an epoch, as text, with the state after
// each.
func epochOf(t *testing.T, l *Loader) (all []string, states []State) {
	t.Helper()
	for b := range inEpoch(t, l) {
		all, states = append(all, fmt.Sprintf("step %d\n%s", b.Step(), shownBatch(t, b))), append(states, l.State())
	}
	return all, states
}

var lengthsOfFiles = []int{3, 1, 9, 4, 4, 2, 8, 8, 1, 5, 3, 3, 9, 7, 2, 6, 1, 1, 4, 10, 5, 2}

// A run that goes on from the state after any batch yields the batches that the
// uninterrupted one would have, whatever brings samples together.
func TestGroupedBatchesResume(t *testing.T) {
	leak.Check(t)
	files := `{"files":{"pattern":%q,"root":"/","label":"parent"}},{"shuffle":{"seed":5}},`
	npys, photos := sequences(t, lengthsOfFiles...), phototest.Folder(t, 30)
	for steps, root := range map[string]string{
		`{"decode_npy":{"dtype":"int32","to":"tokens"}},{"bucket_batch":{"lengths":[4,10],"size":3,"pad":-1}}`:                                 npys,
		`{"decode_npy":{"dtype":"int32","to":"tokens"}},{"bucket_batch":{"lengths":[3,6,10],"tokens":20,"pad_to":"longest","drop_last":true}}`: npys,
		`{"decode_npy":{"dtype":"int32","to":"tokens"}},{"bucket_batch":{"lengths":[4,8],"size":3,"overlong":"drop"}}`:                         npys,
		`{"decode_npy":{"dtype":"int32","to":"tokens"}},{"pack":{"length":11,"size":2,"open":2}}`:                                              npys,
		`{"decode_npy":{"dtype":"int32","to":"tokens"}},{"pack":{"length":8,"size":3,"open":3,"fit":"first","overlong":"truncate"}}`:           npys,
		`"decode_image","random_rotate90",{"resize_to_bucket":{"sizes":[[8,6],[6,8]]}},"random_flip",{"batch":{"size":4}}`:                     photos,
		`"decode_image",{"resize_to_bucket":{"sizes":[[8,6],[6,8],7]}},{"batch":{"size":4,"drop_last":true}}`:                                  photos,
	} {
		checkResumes(t, steps, parseRecipe(t, files+steps, root))
	}
}

// checkResumes goes on after each batch of an epoch, from the state there and from the
// one that Seek finds.
func checkResumes(t *testing.T, steps string, r recipe.Recipe) {
	t.Helper()
	for _, fuse := range []bool{true, false} {
		config := Config{Epochs: new(2), Workers: new(3), Fuse: &fuse}
		l := openLoader(t, r, config, Options{})
		first, states := epochOf(t, l)
		second, _ := epochOf(t, l)
		if len(first) < 4 || slices.Equal(first, second) {
			t.Fatalf("%s: %d batches, in a random order", steps, len(first))
		}
		if got := l.Epoch(); got.Batches != int64(len(second)) || int64(len(first)) > l.Info().BatchesPerEpoch || l.Info().Exact {
			t.Errorf("%s: %+v, %d batches at most", steps, got, l.Info().BatchesPerEpoch)
		}
		if at, err := l.Seek(t.Context(), states[0], 2); err != nil || !reflect.DeepEqual(at, states[2]) {
			t.Errorf("%s: two after the first: %v, %+v, want %+v", steps, err, at, states[2])
		}
		for i, from := range states {
			text, err := json.Marshal(from)
			if err != nil {
				t.Fatal(err)
			}
			var back State
			if err := json.Unmarshal(text, &back); err != nil {
				t.Fatal(err)
			}
			if err := l.Start(back, nil); err != nil {
				t.Fatal(err)
			}
			var got []string
			if back.Epoch == 0 {
				got, _ = epochOf(t, l)
			}
			if !slices.Equal(got, first[i+1:]) {
				t.Fatalf("%s, fused %v: after batch %d, %s:\n%v\nwant\n%v", steps, fuse, i, text, got, first[i+1:])
			}
			if again, _ := epochOf(t, l); !slices.Equal(again, second) {
				t.Fatalf("%s: the epoch after is another", steps)
			}
		}
		l.Close()
		if used := l.Stats().Memory.Used; used != 0 {
			t.Errorf("%s: %d bytes are still held", steps, used)
		}
	}
}

// The same after what joins ways.
func TestGroupedBatchesBehindMergesAndRoutes(t *testing.T) {
	leak.Check(t)
	npys, others, photos := sequences(t, lengthsOfFiles...), sequences(t, 7, 7, 2, 5, 1, 9), phototest.Folder(t, 30)
	merge := `{"mix":{"source":"","of":[[{"files":{"pattern":%q,"root":"/","label":"parent"},"name":"one"},{"shuffle":{"seed":5},"name":"first"}],` +
		`[{"files":{"pattern":%q,"root":"/","label":"parent"},"name":"two"},{"shuffle":{"seed":6},"name":"second"}]],"weights":[3,1]}},`
	route := `{"files":{"pattern":%q,"root":"/","label":"parent"}},{"shuffle":{"seed":5}},{"route":{"by":"label","branches":[{"when":[1],"steps":[%s]},{"steps":[%s]}]}},`
	npy := `{"decode_npy":{"dtype":"int32","to":"x"}}`
	for steps, r := range map[string]recipe.Recipe{
		"pack":    parseRecipe(t, merge+npy+`,{"pack":{"length":10,"size":2,"open":2}}`, npys, others),
		"buckets": parseRecipe(t, merge+npy+`,{"bucket_batch":{"lengths":[4,10],"size":3}}`, npys, others),
		"images":  parseRecipe(t, route+`{"resize_to_bucket":{"sizes":[[8,6],[6,8]]}},{"batch":{"size":4}}`, photos, `"decode_image",{"rotate90":{"turns":1}}`, `"decode_image"`),
	} {
		checkResumes(t, steps, r)
	}
}

// The ledger has every sample of a packed row, in the order in which they are there.
func TestOriginsOfPackedRows(t *testing.T) {
	leak.Check(t)
	root := sequences(t, lengthsOfFiles...)
	r := parseRecipe(t, `{"files":{"pattern":%q,"root":"/"}},{"shuffle":{"seed":5}},{"decode_npy":{"dtype":"int32","to":"x"}},{"pack":{"length":11,"size":2,"open":3}}`, root)
	paths, err := filepath.Glob(filepath.Join(root, "*", "*.npy"))
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(paths)
	l := openLoader(t, r, Config{Epochs: new(1)}, Options{Ledger: true})
	seen := map[int64]bool{}
	for b := range inEpoch(t, l) {
		rows := make([][]string, b.Rows())
		for i, o := range b.Origins() {
			rows[i] = append(rows[i], o.Key)
			seen[o.ID.Index] = true
			if key := paths[o.ID.Index]; key != o.Key {
				t.Errorf("%+v, and there is %s", o, key)
			}
		}
		for i, text := range b.Text("key") {
			var keys []string
			if err := json.Unmarshal([]byte(text), &keys); err != nil || !slices.Equal(keys, rows[i]) {
				t.Errorf("%v: row %d has %v, the ledger %v", err, i, text, rows[i])
			}
		}
	}
	if len(seen) != len(lengthsOfFiles) {
		t.Errorf("%d samples of %d", len(seen), len(lengthsOfFiles))
	}
}

// What two ranks have packed, one that goes on alone does not pack again.
func TestPackedRowsUnderAnotherWorldSize(t *testing.T) {
	leak.Check(t)
	root := sequences(t, lengthsOfFiles...)
	for _, last := range []string{`{"pack":{"length":11,"size":1,"open":2}}`, `{"bucket_batch":{"lengths":[4,10],"size":2}}`} {
		r := parseRecipe(t, `{"files":{"pattern":%q,"root":"/"}},{"shuffle":{"seed":5}},{"decode_npy":{"dtype":"int32","to":"x"}},`+last, root)
		seen := map[int64]int{}
		var records []State
		for _, world := range []int{2, 1} {
			var next []State
			for rank := range world {
				l := openLoader(t, r, Config{Epochs: new(1), WorldSize: world, Rank: rank, StepsPerEpoch: new(4)}, Options{Ledger: true})
				if records != nil {
					s, err := l.Gather(records)
					if err != nil || l.Start(s, nil) != nil {
						t.Fatal(err)
					}
				}
				for range 2 {
					b := nextOf(t, l)
					for _, o := range b.Origins() {
						seen[o.ID.Index]++
					}
					b.Release()
				}
				next = append(next, l.State())
			}
			records = next
		}
		for index, n := range seen {
			if n != 1 {
				t.Errorf("%s: sample %d came %d times", last, index, n)
			}
		}
	}
}

// What a batch holds, cell by cell. In the order of their names the samples have 3, 1,
// 4, 5 and 2 elements.
func TestWhatGroupedBatchesHold(t *testing.T) {
	leak.Check(t)
	root := sequences(t, 3, 5, 1, 2, 4)
	files := `{"files":{"pattern":%q,"root":"/","label":"parent"}},{"decode_npy":{"dtype":"int32","to":"x"}},`
	for steps, want := range map[string]string{
		`{"bucket_batch":{"lengths":[3,5],"size":2,"pad":{"x":-7}}}`: `step 0
x [2, 3] [0 1 2 2000 -7 -7] <nil>
label [2] [0 0] <nil>
key [/class0/000.npy /class0/002.npy]
x_length [2] [3 1] <nil>
step 1
x [2, 5] [4000 4001 4002 4003 -7 1000 1001 1002 1003 1004] <nil>
label [2] [0 1] <nil>
key [/class0/004.npy /class1/001.npy]
x_length [2] [4 5] <nil>
step 2
x [1, 3] [3000 3001 -7] <nil>
label [1] [1] <nil>
key [/class1/003.npy]
x_length [1] [2] <nil>
`,
		`{"pack":{"length":6,"size":2,"pad":{"x":-7,"label":-100}}}`: `step 0
x [2, 6] [2000 1000 1001 1002 1003 1004 4000 4001 4002 4003 3000 3001] <nil>
label [2, 6] [0 1 1 1 1 1 0 0 0 0 1 1] <nil>
key [["/class0/002.npy","/class1/001.npy"] ["/class0/004.npy","/class1/003.npy"]]
x_segment_ids [2, 6] [1 2 2 2 2 2 1 1 1 1 2 2] <nil>
x_positions [2, 6] [0 0 1 2 3 4 0 1 2 3 0 1] <nil>
step 1
x [1, 6] [0 1 2 -7 -7 -7] <nil>
label [1, 6] [0 0 0 -100 -100 -100] <nil>
key [["/class0/000.npy"]]
x_segment_ids [1, 6] [1 1 1 0 0 0] <nil>
x_positions [1, 6] [0 1 2 0 0 0] <nil>
`,
	} {
		l := openLoader(t, parseRecipe(t, files+steps, root), Config{Epochs: new(1)}, Options{})
		all, _ := epochOf(t, l)
		if got := strings.Join(all, ""); got != want {
			t.Errorf("%s:\n%s\nwant\n%s", steps, got, want)
		}
		if e := l.Epoch(); e.Samples != 5 || e.Batches != int64(len(all)) {
			t.Errorf("%s: %+v", steps, e)
		}
	}
}

// A sample whose header or whose pixels are bad is skipped or replaced as ever, and its
// batch has images of one size.
func TestFailuresInGroupedBatches(t *testing.T) {
	leak.Check(t)
	root := phototest.Folder(t, 24)
	phototest.Spoil(t, root, "003.jpg")
	if err := os.WriteFile(filepath.Join(root, "class0", "004.jpg"), []byte("no picture"), 0o644); err != nil {
		t.Fatal(err)
	}
	steps := `{"files":{"pattern":%q,"root":"/"}},"decode_image",{"random_rotate90":{"p":0.5}},{"resize_to_bucket":{"sizes":[[8,6],[6,8]]}},{"batch":{"size":4}}`
	for policy, want := range map[OnError]EpochSummary{
		Skip:    {Samples: 22, Lost: 2, Last: true},
		Replace: {Samples: 24, Replaced: 2, Last: true},
	} {
		for _, fuse := range []bool{true, false} {
			l := openLoader(t, parseRecipe(t, steps, root), Config{Epochs: new(1), OnError: policy, MaxErrors: ErrorCount(2), Fuse: &fuse}, Options{})
			all, _ := epochOf(t, l)
			got := l.Epoch()
			if want.Batches = got.Batches; got != want || int(got.Batches) != len(all) {
				t.Errorf("%s, fused %v: %+v, want %+v", policy, fuse, got, want)
			}
		}
	}
	l := openLoader(t, parseRecipe(t, steps, root), Config{Epochs: new(1)}, Options{})
	_, err := rowsUntilError(t, l)
	if !strings.Contains(err.Error(), "class") || !strings.Contains(err.Error(), ".jpg") {
		t.Error(err)
	}
}

// Every sample of a packed row that came instead of another is reported before its
// batch, and counted, in the order of the rows; also after a resume. One too many ends
// the run before its batch.
func TestReplacedSamplesOfPackedRows(t *testing.T) {
	leak.Check(t)
	root := sequences(t, lengthsOfFiles...)
	for _, i := range []int{1, 2, 5, 6, 10, 17, 20} {
		if err := os.WriteFile(filepath.Join(root, fmt.Sprint("class", i%2), fmt.Sprintf("%03d.npy", i)), []byte("no array"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	r := parseRecipe(t, `{"files":{"pattern":%q,"root":"/"}},{"shuffle":{"seed":5}},{"decode_npy":{"dtype":"int32"}},{"pack":{"length":12,"size":2,"open":2}}`, root)
	for _, fuse := range []bool{true, false} {
		type step struct {
			batch string
			lost  []string
			state State
		}
		var lost []string
		options := Options{Ledger: true, Lost: func(l Lost) { lost = append(lost, fmt.Sprint(l.ID.Pos, l.Key, l.Replaced)) }}
		config := Config{Epochs: new(1), Workers: new(3), OnError: Replace, Fuse: &fuse, MaxErrors: ErrorCount(7)}
		rest := func(l *Loader) (all []step, err error) {
			for {
				lost = nil
				b, err := l.Next(t.Context())
				if err != nil {
					return all, err
				}
				var want []string
				for _, o := range b.Origins() {
					if o.Replaced != nil {
						want = append(want, fmt.Sprint(o.Replaced.ID.Pos, o.Replaced.Key, true))
					}
				}
				if !slices.Equal(lost, want) {
					t.Errorf("told %v before a batch with %v", lost, want)
				}
				all = append(all, step{shownBatch(t, b), lost, l.State()})
				b.Release()
			}
		}
		l := openLoader(t, r, config, options)
		all, err := rest(l)
		if e := l.Epoch(); err != io.EOF || e.Replaced != 7 || e.Samples != 22 || e.Lost != 0 {
			t.Fatalf("%v, %+v", err, e)
		}
		told := int64(0)
		for i, s := range all {
			if told += int64(len(s.lost)); s.state.Epoch == 0 && s.state.Replaced != told {
				t.Errorf("after batch %d %d were replaced, and the state says %d", i, told, s.state.Replaced)
			}
			if s.state.Epoch > 0 {
				continue
			}
			if err := l.Start(s.state, nil); err != nil {
				t.Fatal(err)
			}
			if got, err := rest(l); err != io.EOF || !reflect.DeepEqual(got, all[i+1:]) || l.Epoch().Replaced != 7 {
				t.Errorf("after batch %d: %v, %+v\n%v\nwant\n%v", i, err, l.Epoch(), got, all[i+1:])
			}
		}
		config.MaxErrors = ErrorCount(2)
		few := openLoader(t, r, config, options)
		got, err := rest(few)
		told = 0
		for _, s := range got {
			told += int64(len(s.lost))
		}
		if n := len(got); !errors.Is(err, ErrTooManyLost) || n == len(all) || told+int64(len(all[n].lost)) <= 2 || told > 2 || few.State().Replaced != told || len(lost) > 0 {
			t.Errorf("%d batches with %d replaced, then %v; %v told, %+v", n, told, err, lost, few.State())
		}
	}
}

// However little memory there is beside the batches, samples that wait for others do
// not keep these from coming.
func TestGroupedBatchesWithLittleMemory(t *testing.T) {
	leak.Check(t)
	npys, photos := sequences(t, lengthsOfFiles...), phototest.Folder(t, 30)
	files := `{"files":{"pattern":%q,"root":"/"}},`
	for steps, root := range map[string]string{
		`{"decode_npy":{"dtype":"int32"}},{"bucket_batch":{"lengths":[2,4,6,8,10],"size":4}}`:                                          npys,
		`{"decode_npy":{"dtype":"int32"}},{"pack":{"length":20,"size":2}}`:                                                             npys,
		`"decode_image","random_rotate90",{"resize_to_bucket":{"sizes":[[8,6],[6,8],[7,7],[9,3]]}},"random_flip",{"batch":{"size":4}}`: photos,
	} {
		r := parseRecipe(t, files+steps, root)
		for _, fuse := range []bool{true, false} {
			l := openLoader(t, r, Config{Epochs: new(2), Workers: new(4), Fuse: &fuse}, Options{})
			var want [2][]string
			for epoch := range want {
				want[epoch], _ = epochOf(t, l)
			}
			slots := int64(5 * (l.Info().SlotBytes + os.Getpagesize()))
			l.Close()
			little := openLoader(t, r, Config{Epochs: new(2), Workers: new(4), Fuse: &fuse, Memory: new(slots + 100)}, Options{})
			for epoch := range want {
				if got, _ := epochOf(t, little); !slices.Equal(got, want[epoch]) {
					t.Fatalf("%s, fused %v: with little memory the batches are others", steps, fuse)
				}
			}
			little.Close()
			if used := little.Stats().Memory.Used; used != 0 {
				t.Errorf("%s: %d bytes are still held", steps, used)
			}
		}
	}
}

// Ranks yield as many batches as they were told, each of its own samples; without being
// told, they are refused.
func TestGroupedBatchesOfRanks(t *testing.T) {
	leak.Check(t)
	r := parseRecipe(t, `{"files":{"pattern":%q,"root":"/"}},"shuffle",{"decode_npy":{"dtype":"int32"}},{"bucket_batch":{"lengths":[4,10],"size":3}}`, sequences(t, lengthsOfFiles...))
	if _, err := Open(t.Context(), r, Config{WorldSize: 2}, Options{}); !errors.Is(err, ErrConfig) || !strings.Contains(err.Error(), "set steps_per_epoch") {
		t.Error(err)
	}
	seen := map[string]bool{}
	for rank := range 2 {
		l := openLoader(t, r, Config{Epochs: new(1), WorldSize: 2, Rank: rank, StepsPerEpoch: new(3)}, Options{})
		batches := 0
		for b := range inEpoch(t, l) {
			for _, key := range b.Text("key") {
				if seen[key] {
					t.Errorf("%s comes twice", key)
				}
				seen[key] = true
			}
			batches++
		}
		if batches != 3 || l.Info().BatchesPerEpoch != 3 || !l.Info().Exact {
			t.Errorf("rank %d has %d batches, %+v", rank, batches, l.Info())
		}
	}
}

// Arrays are fields as others: an operation of a program takes those of a fixed shape,
// and they are stacked.
func TestArraysOfAFixedShape(t *testing.T) {
	leak.Check(t)
	if err := registerSum(); err != nil {
		t.Fatal(err)
	}
	root := sequences(t, 3, 3, 3, 2)
	steps := `{"files":{"pattern":%q,"root":"/"}},{"decode_npy":{"dtype":"int32","shape":[3],"to":"x"}},"sum_of_three",{"batch":{"size":4}}`
	l := openLoader(t, parseRecipe(t, steps, root), Config{Epochs: new(1), OnError: Skip}, Options{})
	got, _ := epochOf(t, l)
	want := `step 0
x [3, 3] [0 1 2 2000 2001 2002 1000 1001 1002] <nil>
key [/class0/000.npy /class0/002.npy /class1/001.npy]
sum [3] [3 6003 3003] <nil>
`
	if len(got) != 1 || got[0] != want {
		t.Errorf("%s\nwant %s", got, want)
	}
	if l.Epoch().Lost != 1 {
		t.Errorf("%+v", l.Epoch())
	}
	_, err := Open(t.Context(), parseRecipe(t, strings.Replace(steps, `"shape":[3]`, `"shape":[null]`, 1), root), Config{}, Options{})
	if err == nil || !strings.Contains(err.Error(), `reads "x" as int32 [3]: it is int32 [?]`) {
		t.Error(err)
	}
}

var registerSum = sync.OnceValue(func() error {
	return Register("sum_of_three", "Adds an array up.", func() Operation[three, sum] { return new(sumOfThree) })
})

// sumOfThree adds an array up.
type sumOfThree struct{}

type three struct {
	X [3]int32 `field:"x"`
}

type sum struct {
	Sum int64 `field:"sum"`
}

func (sumOfThree) Do(_ context.Context, in three) (sum, error) {
	return sum{int64(in.X[0]) + int64(in.X[1]) + int64(in.X[2])}, nil
}

// Where batches need not wait, they have the samples, pixels and text of others, and
// their states resume.
func TestBatchesInTimeAreTheOthers(t *testing.T) {
	leak.Check(t)
	photos := phototest.Folder(t, 14)
	const steps = `{"files":{"pattern":%q,"root":"/","label":"parent"}},"decode_image",{"random_resized_crop":{"size":[8,6]}},` +
		`{"normalize":{"mean":0.5,"std":0.25}},{"layout":{"layout":"NCHW"}},`
	for _, fuse := range []bool{true, false} {
		config := Config{Epochs: new(1), Workers: new(3), Fuse: &fuse}
		full := openLoader(t, parseRecipe(t, steps+`{"batch":{"size":4}}`, photos), config, Options{})
		want, _ := epochOf(t, full)
		full.Close()

		l := openLoader(t, parseRecipe(t, steps+`{"batch":{"size":4,"max_wait":3600}}`, photos), config, Options{})
		got, states := epochOf(t, l)
		if !slices.Equal(got, want) || len(want) != 4 {
			t.Errorf("fused %v: %v, want %v", fuse, got, want)
		}
		if i := l.Info(); i.Exact || i.BatchesPerEpoch != 14 {
			t.Errorf("%d batches, exact: %v", i.BatchesPerEpoch, i.Exact)
		}
		for i, at := range states[:3] {
			if err := l.Start(at, nil); err != nil {
				t.Fatal(err)
			}
			if rest, _ := epochOf(t, l); !slices.Equal(rest, want[i+1:]) {
				t.Errorf("after %d: %v", i, rest)
			}
		}
		l.Close()
		if used := l.Stats().Memory.Used; used != 0 {
			t.Errorf("%d bytes are still held", used)
		}
	}
}
