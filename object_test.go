//go:build cgo && !headrace_debug

package headrace

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"

	"headrace/extern"
	"headrace/internal/leak"
	"headrace/internal/record"
	"headrace/internal/source"
	"headrace/order"
	"headrace/pipe"
	"headrace/sample"
)

const numbersObject = `{"source":{"function":"sources:Numbers","length":10000,"gives":{"x":{"dtype":"float32","shape":[4]},"n":{"dtype":"int64"},"name":"text"}}}`

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
	for b, err := range l.All(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, numbersIn(b, name))
		b.Release()
	}
	return all
}

// An object that is read by number is a source like files: order, shares and places are arithmetic.
func TestObjectsComeInTheOrderOfArithmetic(t *testing.T) {
	leak.Check(t)
	const n, size = 10000, 64
	for rank := range 2 {
		c := Config{Epochs: new(2), WorldSize: 2, Rank: rank}
		l := openObject(t, numbersObject+`,{"shuffle":{"seed":3}},{"batch":{"size":64}}`, c, Options{})
		rows := func(epoch int) (all []int64) { // by hand: global batches of 128, of which each rank has 64 in a row; the last has 16, 8 for each
			p := order.Permute(n, 3, epoch)
			for at := 0; at < n; at += 2 * size {
				share := min(2*size, n-at) / 2
				for i := range share {
					all = append(all, p.At(int64(at+rank*share+i)))
				}
			}
			return all
		}
		if i := l.Info(); i.Samples != n || i.SamplesPerEpoch != n/2 || i.BatchesPerEpoch != 79 || !i.Exact {
			t.Errorf("%+v", i)
		}
		for epoch := range 2 {
			want, at := rows(epoch), 0
			for b, err := range l.All(t.Context()) {
				if err != nil {
					t.Fatal(err)
				}
				x, _ := b.Tensor("x")
				for i, got := range numbersIn(b, "n") {
					w := want[at]
					first := binary.NativeEndian.Uint32(x.Row(i).Data)
					if got != w || b.Text("name")[i] != fmt.Sprint("sample ", w) || b.Text("key")[i] != fmt.Sprint(w) || first != float32Bits(4*w) {
						t.Fatalf("rank %d, epoch %d: at %d stands %d, %q, %q, want %d", rank, epoch, at, got, b.Text("name")[i], b.Text("key")[i], w)
					}
					at++
				}
				b.Release()
			}
			if at != len(want) {
				t.Fatalf("rank %d, epoch %d: %d samples, want %d", rank, epoch, at, len(want))
			}
		}
		nothingHeld(t, l)
	}
}

func float32Bits(x int64) uint32 {
	var b [4]byte
	if _, err := binary.Encode(b[:], binary.NativeEndian, float32(x)); err != nil {
		panic(err)
	}
	return binary.NativeEndian.Uint32(b[:])
}

// A state, read back from JSON, goes on where it was taken.
func TestObjectsResumeAnywhere(t *testing.T) {
	leak.Check(t)
	steps := numbersObject + `,"shuffle",{"batch":{"size":100}}`
	whole := numbersOfEpoch(t, openObject(t, steps, Config{}, Options{}), "n")
	l := openObject(t, steps, Config{}, Options{})
	r := rand.New(rand.NewPCG(1, 2))
	for range 6 {
		at := r.IntN(len(whole))
		if err := l.Start(l.Info().State, nil); err != nil {
			t.Fatal(err)
		}
		for range at {
			b, err := l.Next(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			b.Release()
		}
		from := throughJSON(t, l.State())
		other := openLoaderAt(t, steps, Config{}, from)
		if got := numbersOfEpoch(t, other, "n"); fmt.Sprint(got) != fmt.Sprint(whole[at:]) {
			t.Errorf("after %d batches others come", at)
		}
	}
}

func throughJSON(t *testing.T, s State) (back State) {
	t.Helper()
	b, err := json.Marshal(s)
	if err == nil {
		err = json.Unmarshal(b, &back)
	}
	if err != nil {
		t.Fatal(err)
	}
	// What a batch brings of a record says the same.
	var place State
	if err := json.Unmarshal(s.AppendPlace(nil), &place); err != nil {
		t.Fatal(err)
	}
	for name, at := range place.Sources {
		if fmt.Sprint(at.Object) != fmt.Sprint(back.Sources[name].Object) && *at.Object != *back.Sources[name].Object {
			t.Errorf("a batch says %+v, the record %+v", at.Object, back.Sources[name].Object)
		}
	}
	return back
}

func openLoaderAt(t *testing.T, steps string, c Config, from State) *Loader {
	t.Helper()
	l := openObject(t, steps, c, Options{})
	if err := l.Start(from, nil); err != nil {
		t.Fatal(err)
	}
	return l
}

// Samples that are tuples get names; the first one tells what they are; pictures are pictures.
func TestObjectsOfTuples(t *testing.T) {
	leak.Check(t)
	const steps = `{"source":{"function":"sources:Pairs","length":12,"fields":["image","label"]}},{"resize":{"size":[3,3]}},{"batch":{"size":5}}`
	l := openObject(t, steps, Config{}, Options{})
	n := int64(0)
	for b, err := range l.All(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		x, _ := b.Tensor("image")
		for i, label := range numbersIn(b, "label") {
			if label != n%3 || x.Row(i).Data[0] != byte(n) || len(x.Row(i).Data) != 27 || b.Text("key")[i] != fmt.Sprint(n) {
				t.Errorf("sample %d has the label %d and the pixels %v", n, label, x.Row(i).Data)
			}
			n++
		}
		b.Release()
	}
	if n != 12 {
		t.Errorf("%d samples came", n)
	}
	nothingHeld(t, l)
}

// A bad item is one bad sample, whatever is wrong with it.
func TestBadItemsOfObjects(t *testing.T) {
	leak.Check(t)
	for what, want := range map[string]string{
		"Bad":    "ValueError: seven is bad",
		"Deadly": "killed",
		"Odd":    "field 'x' is int16 [4]; the step gives int16 [3]",
	} {
		steps := fmt.Sprintf(`{"source":{"function":"sources:%s","length":40}},{"batch":{"size":4}}`, what)
		var lost []Lost
		l := openObject(t, steps, Config{OnError: Skip}, Options{Lost: func(l Lost) { lost = append(lost, l) }})
		keys := ""
		for b, err := range l.All(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			keys += " " + strings.Join(b.Text("key"), " ")
			b.Release()
		}
		all := ""
		for i := range 40 {
			if i != 7 {
				all += fmt.Sprint(" ", i)
			}
		}
		if keys != all || len(lost) != 1 || lost[0].Key != "7" || lost[0].ID.Index != 7 || lost[0].Stage != "read" || !strings.Contains(lost[0].Err.Error(), want) {
			t.Errorf("%s: %s came, lost were %v", what, keys, lost)
		}
		err := l.Start(l.Info().State, nil)
		l.config.OnError = Raise // the policy of stages without one of their own is that of a run
		if err == nil {
			err = l.Start(l.Info().State, nil)
		}
		for err == nil {
			var b *Batch
			if b, err = l.Next(t.Context()); err == nil {
				b.Release()
			}
		}
		var bad *sample.Error
		if !errors.As(err, &bad) || bad.Key != "7" || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", what, err)
		}
		nothingHeld(t, l)
	}
	l := openObject(t, `{"source":{"function":"sources:Deadly","length":40}},{"batch":{"size":4}}`, Config{OnError: Replace}, Options{})
	if batches := len(takeAll(t, l)); batches != 10 || l.Epoch().Replaced != 1 {
		t.Errorf("%d batches, %+v", batches, l.Epoch())
	}
	nothingHeld(t, l)
}

func takeAll(t *testing.T, l *Loader) (keys [][]string) {
	t.Helper()
	for b, err := range l.All(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		keys = append(keys, append([]string(nil), b.Text("key")...))
		b.Release()
	}
	return keys
}

// What is iterated over comes in its own order, again in each epoch.
func TestIterablesComeInTheirOrder(t *testing.T) {
	leak.Check(t)
	for what, n := range map[string]int{"many": 1000, "later": 50, "several": 2, "Saved": 500, "Fresh": 100} {
		l := openObject(t, fmt.Sprintf(`{"source":{"function":"sources:%s"}},{"batch":{"size":7}}`, what), Config{Epochs: new(2)}, Options{})
		if i := l.Info(); i.Exact || i.BatchesPerEpoch != -1 || i.SamplesPerEpoch != -1 || i.Samples != -1 || i.Sources[0].Samples != -1 {
			t.Errorf("%s: %+v", what, i)
		}
		for epoch := range 2 {
			at := int64(0)
			for _, batch := range numbersOfEpoch(t, l, "n") {
				for _, got := range batch {
					first := int64(0)
					if what == "Saved" || what == "several" || what == "Fresh" {
						first = 1
					}
					if got != at+first {
						t.Fatalf("%s, epoch %d: %d comes at %d", what, epoch, got, at)
					}
					at++
				}
			}
			if at != int64(n) {
				t.Errorf("%s, epoch %d: %d samples came, want %d", what, epoch, at, n)
			}
		}
		if _, err := l.Next(t.Context()); err != pipe.ErrDone {
			t.Error(err)
		}
		nothingHeld(t, l)
	}
}

// A stream with a state of its own goes on at every batch, in another process, in any epoch, whatever was read ahead.
func TestIterablesResumeWithTheirState(t *testing.T) {
	leak.Check(t)
	for what, field := range map[string]string{"Saved": "x", "Fresh": "n"} {
		for _, order := range []Order{InputOrder, CompletionOrder} {
			steps := fmt.Sprintf(`{"source":{"function":"sources:%s"}},{"batch":{"size":9}}`, what)
			c := Config{Epochs: new(2), Order: order}
			l := openObject(t, steps, c, Options{})
			whole := [][][]int64{numbersOfEpoch(t, l, field), numbersOfEpoch(t, l, field)}
			if what == "Saved" && fmt.Sprint(whole[0]) == fmt.Sprint(whole[1]) {
				t.Error("the object does not know of epochs")
			}
			r := rand.New(rand.NewPCG(5, 6))
			for range 4 {
				epoch, at := r.IntN(2), 1+r.IntN(len(whole[0])-1)
				begin := State{Epoch: epoch}
				if err := l.Start(begin, nil); err != nil {
					t.Fatal(err)
				}
				var got [][]int64
				for range at {
					b, err := l.Next(t.Context())
					if err != nil {
						t.Fatal(err)
					}
					got = append(got, numbersIn(b, field))
					b.Release()
				}
				from := throughJSON(t, l.State())
				// While the first sample is not finished, others may be: then it is the beginning that is gone on from.
				if o := from.Sources["source"].Object; o == nil || o.Position > from.Sources["source"].Position || o.State == "" && from.Sources["source"].Position > 0 {
					t.Fatalf("%s: after %d batches the record is %+v", what, at, from)
				}
				got = append(got, numbersOfEpoch(t, openLoaderAt(t, steps, c, from), field)...)
				if order == CompletionOrder {
					if !sameNumbers(got, whole[epoch]) {
						t.Errorf("%s: from batch %d of epoch %d on others come", what, at, epoch)
					}
				} else if fmt.Sprint(got) != fmt.Sprint(whole[epoch]) {
					t.Errorf("%s: from batch %d of epoch %d on others come", what, at, epoch)
				}
			}
			nothingHeld(t, l)
		}
	}
}

func sameNumbers(a, b [][]int64) bool {
	count := map[int64]int{}
	for _, batch := range a {
		for _, n := range batch {
			count[n]++
		}
	}
	for _, batch := range b {
		for _, n := range batch {
			count[n]--
		}
	}
	for _, n := range count {
		if n != 0 {
			return false
		}
	}
	return true
}

// States are bounded, however far the run is ahead of who asks.
func TestStatesOfIterablesAreBounded(t *testing.T) {
	s := &source.Iterable{Source: &source.Listing{Source: record.Source{Name: "source"}}}
	s.Begin(3, nil)
	for pos := int64(1); pos <= 10000; pos++ {
		s.Note(3, pos, fmt.Sprint(pos))
	}
	if len(s.States) > source.MostStates {
		t.Errorf("%d states are kept", len(s.States))
	}
	last := ObjectState{}
	for pos := int64(0); pos <= 10000; pos += 37 {
		at := s.StateAt(3, pos)
		if at.Position > pos || at.Position < last.Position || at.Position > 0 && at.State != fmt.Sprint(at.Position) {
			t.Fatalf("at %d: %+v", pos, at)
		}
		last = *at
	}
	s.Note(4, 1, "next")
	if at := s.StateAt(4, 0); at.State != "" {
		t.Errorf("at the beginning of an epoch: %+v", at)
	}
	if at := s.StateAt(4, 1); at.State != "next" {
		t.Errorf("%+v", at)
	}
}

// A stream that breaks off is not at its end, whatever is to become of bad samples.
func TestIterablesThatBreakOff(t *testing.T) {
	leak.Check(t)
	for what, want := range map[string]string{
		"breaks": "RuntimeError: no more of this", "dies": "killed", "Wide": "2097154 bytes", "Unwritten": "plain JSON, arrays of NumPy and bytes: Object of type set",
	} {
		gives := `{"n":{"dtype":"int64"}}`
		if what == "Wide" || what == "Unwritten" {
			gives = `{"n":{"dtype":"int64"},"x":{"dtype":"int64"},"pid":{"dtype":"int64"}}`
		}
		for _, onError := range []OnError{Raise, Skip} {
			l := openObject(t, fmt.Sprintf(`{"source":{"function":"sources:%s","gives":%s}},{"batch":{"size":2}}`, what, gives), Config{OnError: onError}, Options{})
			batches := 0
			var err error
			for err == nil {
				var b *Batch
				if b, err = l.Next(t.Context()); err == nil {
					b.Release()
					batches++
				}
			}
			if err == io.EOF || errors.Is(err, ErrTooManyLost) || !strings.Contains(err.Error(), want) {
				t.Errorf("%s with on_error=%q: %d batches, then %v", what, onError, batches, err)
			}
			nothingHeld(t, l)
		}
	}
}

// What cannot be is refused, with the reason.
func TestObjectsThatAreRefused(t *testing.T) {
	leak.Check(t)
	many := `{"source":{"function":"sources:many"}},`
	for _, c := range []struct {
		steps string
		c     Config
		want  string
	}{
		{many + `"shuffle",{"batch":{"size":2}}`, Config{}, `comes after "source", which is iterated over and comes in an order of its own: takes a source with a length, which is read by number, or let the object shuffle`},
		{many + `{"batch":{"size":2}}`, Config{WorldSize: 2}, `the source "source" is iterated over, with world_size 2: ranks could yield different numbers of batches; say steps_per_epoch`},
		{many + `{"batch":{"size":2}}`, Config{WorldSize: 2, StepsPerEpoch: new(2)}, `all 2 ranks would get the same samples of sources:many: takes a function with two parameters, rank and world_size`},
		{`{"source":{"function":"sources:several"}},{"batch":{"size":2}}`, Config{WorldSize: 2, StepsPerEpoch: new(2)}, `all 2 ranks would get the same samples of sources:several: takes a function of (rank, world_size)`},
		{many + `{"batch":{"size":2}}`, Config{OnError: Replace}, `no other of its samples can be had in the place of a bad one; use "skip"`},
		{many + `{"batch":{"size":2}}`, Config{OnError: Skip, MaxErrors: ErrorRate(0.5)}, `max_errors is 0.5 of the samples: the source "source" is iterated over, and nobody knows how many they are; say a number of them`},
		{`{"source":{"function":"sources:none"}},{"batch":{"size":2}}`, Config{}, `does not say what it gives, and has no sample that would tell: say gives`},
		{`{"source":{"function":"sources:Numbers","length":0}},{"batch":{"size":2}}`, Config{}, `does not say what it gives, and has no sample that would tell: say gives`},
		{`{"source":{"function":"sources:absent"}},{"batch":{"size":2}}`, Config{}, `absent`},
		{`{"source":{"function":"sources:many","length":3}},{"batch":{"size":2}}`, Config{}, `cannot be indexed: it has no __getitem__`},
	} {
		_, err := Open(t.Context(), parseRecipe(t, c.steps), c.c, Options{Python: pythonHere(t)})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s\ngot  %v\nwant %s", c.steps, err, c.want)
		}
	}
	l := openObject(t, many+`{"batch":{"size":2}}`, Config{Epochs: new(3)}, Options{})
	b, err := l.Next(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	b.Release()
	if err := l.Check(l.State()); !errors.Is(err, ErrState) || !strings.Contains(err.Error(), `2 samples were taken of an object that is iterated over and has no state_dict()`) {
		t.Error(err)
	}
	if err := l.Check(State{Epoch: 2}); err != nil {
		t.Errorf("the beginning of an epoch: %v", err)
	}
	// An iterator can be gone through once.
	l = openObject(t, `{"source":{"function":"sources:once","gives":{"n":{"dtype":"int64"}}}},{"batch":{"size":2}}`, Config{Epochs: new(2)}, Options{})
	if got := numbersOfEpoch(t, l, "n"); fmt.Sprint(got) != "[[1 2]]" {
		t.Error(got)
	}
	if _, err := l.Next(t.Context()); err == nil || !strings.Contains(err.Error(), "is an iterator, which can be gone through once, and this is epoch 1") {
		t.Error(err)
	}
}

// The samples of what ranks iterate over have the same numbers on all of them, and are others: they draw other random numbers.
func TestIterablesOfRanksDrawApart(t *testing.T) {
	leak.Check(t)
	seen := map[int64]int{}
	for rank := range 3 {
		steps := `{"source":{"function":"sources:ranked"}},{"map":{"function":"stages:drawn"}},{"batch":{"size":5}}`
		l := openObject(t, steps, Config{WorldSize: 3, Rank: rank, StepsPerEpoch: new(4)}, Options{})
		for _, batch := range numbersOfEpoch(t, l, "drawn") {
			for _, n := range batch {
				seen[n]++
			}
		}
	}
	if len(seen) != 3*4*5 {
		t.Errorf("3 ranks of 20 samples draw %d different numbers", len(seen))
	}
}

// A function of rank and world size gives each rank its part.
func TestIterablesOfRanks(t *testing.T) {
	leak.Check(t)
	for rank := range 2 {
		l := openObject(t, `{"source":{"function":"sources:ranked"}},{"batch":{"size":5}}`, Config{WorldSize: 2, Rank: rank, StepsPerEpoch: new(10)}, Options{})
		at := int64(rank)
		for _, batch := range numbersOfEpoch(t, l, "n") {
			for _, n := range batch {
				if n != at {
					t.Fatalf("rank %d: %d comes, want %d", rank, n, at)
				}
				at += 2
			}
		}
		if at != int64(100+rank) {
			t.Errorf("rank %d ends before %d", rank, at)
		}
		var other State = l.State()
		other.Rank = 1 - rank
		if _, err := l.Gather([]State{other}); !errors.Is(err, ErrState) || !strings.Contains(err.Error(), "each rank has one of its own, which none can take over") {
			t.Error(err)
		}
	}
}

// A loader whose worker waits for a slow object can be closed.
func TestIterablesAreLeftWhereTheyWait(t *testing.T) {
	leak.Check(t)
	l := openObject(t, `{"source":{"function":"sources:slow"}},{"batch":{"size":2}}`, Config{}, Options{})
	b, err := l.Next(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	b.Release()
	l.Stop()
	nothingHeld(t, l)
}

// Objects and files stand side by side in merges.
func TestObjectsInMerges(t *testing.T) {
	leak.Check(t)
	l := openObject(t, `{"merge":{"of":[[`+`{"source":{"function":"sources:Pairs","length":12,"fields":["image","label"]}}`+`,"shuffle"],[`+
		`{"source":{"function":"sources:Pairs","length":6,"fields":["image","label"]}}`+`]]}},{"batch":{"size":6}}`, Config{}, Options{})
	count := map[string]int{}
	for _, batch := range takeAll(t, l) {
		for _, key := range batch {
			count[key]++
		}
	}
	for i := range 12 {
		want := 1
		if i < 6 {
			want = 2
		}
		if count[fmt.Sprint(i)] != want {
			t.Errorf("%d came %d times", i, count[fmt.Sprint(i)])
		}
	}
	nothingHeld(t, l)
}

// Where no worker can be had any more, no sample is to blame: the run ends with the reason, and no policy makes it an epoch of losses.
func TestObjectsThatCannotBeHad(t *testing.T) {
	leak.Check(t)
	for _, policy := range []OnError{Skip, Replace} {
		var lost []Lost
		steps := `{"source":{"function":"sources:absent","length":8,"gives":{"n":{"dtype":"int64"}}}},{"batch":{"size":2}}`
		l := openObject(t, steps, Config{OnError: policy, MaxErrors: ErrorCount(100)}, Options{Lost: func(l Lost) { lost = append(lost, l) }})
		_, err := l.Next(t.Context())
		var start *extern.StartError
		if !errors.As(err, &start) || errors.Is(err, ErrTooManyLost) || strings.HasPrefix(err.Error(), "headrace: too many") || len(lost) > 0 {
			t.Errorf("%v: %v, lost %v", policy, err, lost)
		}
		nothingHeld(t, l)
	}
}
