//go:build cgo && !headrace_debug

package headrace

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"headrace/extern"
	"headrace/internal/leak"
	"headrace/pipe"
	"headrace/recipe"
	"headrace/sample"
)

// makes is what an object of testdata/python/gatherers.py makes of numbers, as Python says without an engine, and for which it fails.
type makes struct {
	Gives  []madeOne `json:"gives"`
	Failed []int64   `json:"failed"`
}

// madeOne is a sample's number, and what its array holds.
type madeOne struct {
	n int64
	x []float64
}

func (m *madeOne) UnmarshalJSON(b []byte) error { return json.Unmarshal(b, &[]any{&m.n, &m.x}) }

func gatheredBy(t *testing.T, class string, numbers []int64) (g makes) {
	t.Helper()
	i := pythonHere(t)
	c := exec.Command(i.Executable, "testdata/python/gatherers.py", class, shownJSON(numbers))
	c.Stderr, c.Env = os.Stderr, i.Environment
	out, err := c.Output()
	if err == nil {
		err = json.Unmarshal(out, &g)
	}
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// madeIn are the samples of a batch.
func madeIn(b *Batch) (all []madeOne) {
	x, _ := b.Tensor("x")
	for i, n := range numbersIn(b, "n") {
		m := madeOne{n: n}
		for row := x.Row(i).Data; len(row) > 0; row = row[4:] {
			m.x = append(m.x, float64(math.Float32frombits(binary.NativeEndian.Uint32(row))))
		}
		all = append(all, m)
	}
	return all
}

// madeOf takes what is left of an epoch.
func madeOf(t *testing.T, l *Loader) (all []madeOne) {
	t.Helper()
	for b, err := range l.All(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, madeIn(b)...)
		b.Release()
	}
	return all
}

func upTo(n int64) (all []int64) {
	for i := range n {
		all = append(all, i)
	}
	return all
}

func numbersUpTo(n int) string {
	return fmt.Sprintf(`{"source":{"function":"sources:Numbers","length":%d,"gives":{"x":{"dtype":"float32","shape":[4]},"n":{"dtype":"int64"},"name":"text"}}},`, n)
}

// Each epoch has an object of its own, which makes of the samples what it makes of them alone, with types that are said, or found out.
func TestAggregatesAreWhatPythonSays(t *testing.T) {
	leak.Check(t)
	for class, types := range map[string]string{
		"Pairs": `,"gives":{"n":{"dtype":"int64"},"x":{"dtype":"float32","shape":[2,4]}}`,
		"Hoard": "", "Quiet": "", "Forgetful": "", "AtTheEnd": `,"gives":{"n":{"dtype":"int64"},"x":{"dtype":"float32","shape":[4]},"name":"text","key":"text"}`,
	} {
		want := gatheredBy(t, class, upTo(61))
		var lost []Lost
		steps := numbersUpTo(61) + fmt.Sprintf(`{"aggregate":{"function":"gatherers:%s"%s}},{"batch":{"size":5}}`, class, types)
		l := openObject(t, steps, Config{Epochs: new(2), OnError: Skip, MaxErrors: ErrorCount(100)}, Options{Lost: func(l Lost) { lost = append(lost, l) }})
		if i := l.Info(); i.Exact || i.BatchesPerEpoch != -1 || i.Stages[len(i.Stages)-2].Name != "aggregate" && i.Stages[len(i.Stages)-3].Name != "aggregate" {
			t.Errorf("%s: %+v", class, i)
		}
		for epoch := range 2 {
			lost = nil
			if got := madeOf(t, l); fmt.Sprint(got) != fmt.Sprint(want.Gives) {
				t.Errorf("%s, epoch %d: %v\nwant %v", class, epoch, got, want.Gives)
			}
			var failed []int64
			for _, lost := range lost {
				failed = append(failed, lost.ID.Index)
				if lost.Stage != "aggregate" || !strings.Contains(lost.Err.Error(), "ValueError: no") {
					t.Errorf("%s: %+v", class, lost)
				}
			}
			if slices.Sort(failed); fmt.Sprint(failed) != fmt.Sprint(want.Failed) {
				t.Errorf("%s: lost are %v, want %v", class, failed, want.Failed)
			}
		}
		nothingHeld(t, l)
	}
}

// A run that is cut behind any batch goes on as if nothing had been, with what the object said of itself where it stood: whatever is before it, behind it, and beside it.
func TestAggregatesResumeAnywhere(t *testing.T) {
	leak.Check(t)
	hoard, quiet := `{"aggregate":{"function":"gatherers:Hoard"}}`, `{"aggregate":{"function":"gatherers:Quiet"}}`
	for what, c := range map[string]struct {
		steps string
		order Order
	}{
		"alone":               {numbersUpTo(60) + hoard, InputOrder},
		"shuffled":            {numbersUpTo(60) + `"shuffle",` + quiet, InputOrder},
		"behind a filter":     {numbersUpTo(60) + `{"filter":{"function":"stages:odd","fields":["n"]}},` + hoard, InputOrder},
		"twice":               {numbersUpTo(60) + hoard + `,{"aggregate":{"function":"gatherers:Quiet"},"name":"again"}`, InputOrder},
		"in completion":       {numbersUpTo(60) + hoard + `,{"map":{"function":"stages:untidy","workers":2}}`, CompletionOrder},
		"in a merge":          {`{"merge":{"of":[[` + numbersUpTo(60) + hoard + `],[` + strings.Replace(numbersUpTo(30), "name\":\"text\"", "name\":\"text\"", 1) + `{"map":{"function":"stages:bare","gives":{"n":{"dtype":"int64"},"x":{"dtype":"float32","shape":[4]}}}}]]}}`, InputOrder},
		"behind a merge":      {`{"merge":{"of":[[` + strings.TrimSuffix(numbersUpTo(40), ",") + `,"shuffle"],[` + strings.TrimSuffix(numbersUpTo(25), ",") + `]]}},` + hoard, InputOrder},
		"of what is iterated": {`{"source":{"function":"sources:Walk","gives":{"x":{"dtype":"float32","shape":[4]},"n":{"dtype":"int64"}}}},` + hoard, InputOrder},
	} {
		t.Run(what, func(t *testing.T) {
			steps := c.steps + `,{"batch":{"size":3}}`
			var lost []string
			config := Config{Epochs: new(2), OnError: Skip, MaxErrors: ErrorCount(1000), Order: c.order}
			l := openObject(t, steps, config, Options{Lost: func(l Lost) { lost = append(lost, fmt.Sprint(l.ID, l.Stage)) }})
			type moment struct {
				made []madeOne
				lost int // before it
				from State
			}
			var whole []moment
			for epoch := range 2 {
				for b, err := range l.All(t.Context()) {
					if err != nil {
						t.Fatal(err)
					}
					whole = append(whole, moment{madeIn(b), len(lost), throughJSON(t, l.State())})
					b.Release()
				}
				whole = append(whole, moment{lost: len(lost), from: throughJSON(t, l.State())})
				if epoch == 0 && len(whole) < 10 {
					t.Fatalf("%d batches", len(whole))
				}
			}
			all := lost
			for i := 0; i < len(whole)-1; i++ {
				if (what != "alone" || underRace) && i%4 > 0 { // workers that start take their time
					continue
				}
				lost = nil
				if err := l.Start(whole[i].from, nil); err != nil {
					t.Fatalf("behind batch %d: %v", i, err)
				}
				var got, want []madeOne
				for {
					b, err := l.Next(t.Context())
					if err == pipe.ErrDone {
						break
					} else if err == io.EOF {
						continue
					} else if err != nil {
						t.Fatal(err)
					}
					got = append(got, madeIn(b)...)
					b.Release()
				}
				for _, m := range whole[i+1:] {
					want = append(want, m.made...)
				}
				left := slices.Clone(all[whole[i].lost:])
				if c.order == CompletionOrder {
					for _, list := range [][]madeOne{got, want} {
						slices.SortFunc(list, func(a, b madeOne) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
					}
					slices.Sort(left)
					slices.Sort(lost)
				}
				if fmt.Sprint(got) != fmt.Sprint(want) {
					t.Fatalf("behind batch %d, %+v: comes\n%v\nwant\n%v", i, whole[i].from, got, want)
				}
				if fmt.Sprint(lost) != fmt.Sprint(left) {
					t.Fatalf("behind batch %d: lost are\n%v\nwant\n%v", i, lost, left)
				}
			}
			// In another process, too.
			other := openObject(t, steps, config, Options{})
			from := whole[len(whole)/4]
			if err := other.Start(from.from, nil); err != nil {
				t.Fatal(err)
			}
			got := madeOf(t, other)
			var want []madeOne
			for _, m := range whole[len(whole)/4+1:] {
				if m.made == nil {
					break
				}
				want = append(want, m.made...)
			}
			if c.order == InputOrder && fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("in another process: %v, want %v", got, want)
			}
			nothingHeld(t, l)
			nothingHeld(t, other)
		})
	}
}

// What an object is called with by name, and what it draws, is the same in each run, and after each cut.
func TestAggregatesOfFieldsDrawTheSame(t *testing.T) {
	leak.Check(t)
	steps := numbersUpTo(20) + `{"aggregate":{"function":"gatherers:Window","fields":["n"],"seed":["random","numpy"]}},{"batch":{"size":2}}`
	l := openObject(t, steps, Config{Epochs: new(2)}, Options{})
	sums, drawn := numbersOfEpoch(t, l, "n"), numbersOfEpoch(t, openObject(t, steps, Config{}, Options{}), "drawn")
	if fmt.Sprint(sums[:2], sums[len(sums)-1]) != "[[3 6] [9 12]] [0]" {
		t.Errorf("%v", sums)
	}
	if next := numbersOfEpoch(t, l, "drawn"); fmt.Sprint(next) == fmt.Sprint(drawn) || len(next) != len(drawn) {
		t.Errorf("in epoch 1 the same is drawn as in epoch 0: %v", next)
	}
	if err := l.Start(State{}, nil); err != nil {
		t.Fatal(err)
	}
	for range 4 {
		b, err := l.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		b.Release()
	}
	if err := l.Start(throughJSON(t, l.State()), nil); err != nil {
		t.Fatal(err)
	}
	if got := numbersOfEpoch(t, l, "drawn"); fmt.Sprint(got) != fmt.Sprint(drawn[4:]) {
		t.Errorf("%v, want %v", got, drawn[4:])
	}
	nothingHeld(t, l)
}

// Without state_dict a run goes on at the beginning of an epoch, and where nothing is finished of what the object has made, and is refused elsewhere. What other
// ranks have gathered none can take over.
func TestAggregatesThatCannotGoOn(t *testing.T) {
	leak.Check(t)
	steps := numbersUpTo(40) + `{"aggregate":{"function":"gatherers:Forgetful"}},{"batch":{"size":3}}`
	l := openObject(t, steps, Config{Epochs: new(3), OnError: Skip, MaxErrors: ErrorCount(100)}, Options{})
	whole := madeOf(t, l)
	if err := l.Start(throughJSON(t, l.State()), nil); err != nil { // the beginning of epoch 1
		t.Fatal(err)
	}
	for {
		b, err := l.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		b.Release()
		s := throughJSON(t, l.State())
		err = l.Check(s)
		if m := s.Aggregates["aggregate"]; m.Groups == 0 {
			if err != nil {
				t.Errorf("where nothing is finished: %v", err)
			}
			continue
		}
		if !errors.Is(err, ErrState) || !strings.Contains(err.Error(), `the object of "aggregate" had made samples`) || !strings.Contains(err.Error(), "begin at an epoch, or give the object state_dict() and load_state_dict()") {
			t.Error(err)
		}
		break
	}
	if err := l.Start(State{Epoch: 2}, nil); err != nil {
		t.Fatal(err)
	}
	if got := madeOf(t, l); fmt.Sprint(got) != fmt.Sprint(whole) {
		t.Errorf("epoch 2 is not as epoch 0")
	}
	good := openObject(t, numbersUpTo(40)+`{"aggregate":{"function":"gatherers:Hoard"}},{"batch":{"size":3}}`, Config{OnError: Skip, MaxErrors: ErrorCount(100)}, Options{})
	for range 5 {
		b, err := good.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		b.Release()
	}
	for want, change := range map[string]func(*State){
		`it has an aggregate "other", which the recipe lacks`:                  func(s *State) { s.Aggregates["other"] = pipe.Memory{} },
		`its aggregate "aggregate" had made samples -1 times`:                  func(s *State) { s.Aggregates["aggregate"] = pipe.Memory{Groups: -1} },
		`its aggregate "aggregate" had made samples 0 times`:                   func(s *State) { s.Aggregates["aggregate"] = pipe.Memory{State: "{}"} },
		`the state of the object of "aggregate" is no JSON of at most 1048576`: func(s *State) { s.Aggregates["aggregate"] = pipe.Memory{Groups: 2, State: "{"} },
		`it lacks the aggregate "aggregate"`:                                   func(s *State) { s.Aggregates = nil },
		`it says nothing of its sources`:                                       func(s *State) { s.Sources, s.Parts, s.Batches, s.Dropped = nil, nil, 0, 0 },
	} {
		s := throughJSON(t, good.State())
		change(&s)
		if err := good.Check(s); !errors.Is(err, ErrState) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	other := good.State()
	other.WorldSize, other.Rank = 2, 1
	if _, err := good.Gather([]State{other}); !errors.Is(err, ErrState) || !strings.Contains(err.Error(), `what the object of "aggregate" had gathered there none can take over`) {
		t.Error(err)
	}
	nothingHeld(t, l)
	nothingHeld(t, good)
}

// A sample that the object fails for is one bad sample, and the object goes on; what it makes that does not fit is the fault of the sample that it was given last. When flush fails, all
// that it was given for it has failed.
func TestBadSamplesOfAggregates(t *testing.T) {
	leak.Check(t)
	const gives = `,"gives":{"n":{"dtype":"int64"},"x":{"dtype":"float32","shape":[2,4]}}`
	steps := numbersUpTo(21) + `{"aggregate":{"function":"gatherers:%s"` + gives + `}%s},{"batch":{"size":2}}`
	for _, own := range []string{"", `,"failures":{"on_error":"skip","max_errors":2}`} {
		var lost []Lost
		c := Config{OnError: Skip}
		if own != "" {
			c.OnError = Raise
		}
		l := openObject(t, fmt.Sprintf(steps, "Bad", own), c, Options{Lost: func(l Lost) { lost = append(lost, l) }})
		ns := fmt.Sprint(numbersOfEpoch(t, l, "n"))
		if ns != "[[1 2003] [4005 6009] [10011 12013] [14015 16017] [18019 20]]" {
			t.Error(ns)
		}
		if len(lost) != 2 || lost[0].ID.Index != 7 || lost[1].ID.Index != 8 || lost[0].Stage != "aggregate" || !strings.Contains(lost[0].Err.Error(), "ValueError: seven is bad") ||
			!strings.Contains(lost[1].Err.Error(), `field 'n' is a str; the step gives int64`) {
			t.Errorf("%+v", lost)
		}
		if s := l.State(); own != "" && s.Errors["aggregate"] != 0 {
			t.Errorf("%+v", s)
		}
		nothingHeld(t, l)

		lost = nil
		l = openObject(t, fmt.Sprintf(steps, "BadFlush", own), c, Options{Lost: func(l Lost) { lost = append(lost, l) }})
		if n := len(numbersOfEpoch(t, l, "n")); n != 5 || len(lost) != 1 || lost[0].ID.Index != 20 || !strings.Contains(lost[0].Err.Error(), "ValueError: no end") {
			t.Errorf("%d batches, %+v", n, lost)
		}
		nothingHeld(t, l)
	}
	l := openObject(t, fmt.Sprintf(steps, "Bad", ""), Config{}, Options{})
	batches, err := 0, error(nil)
	for ; err == nil; batches++ {
		var b *Batch
		if b, err = l.Next(t.Context()); err == nil {
			b.Release()
		}
	}
	var bad *sample.Error
	var failed *extern.CallError
	if !errors.As(err, &bad) || bad.Key != "7" || !errors.As(err, &failed) || failed.Type != "ValueError" || batches != 2 {
		t.Errorf("behind %d batches: %v", batches, err)
	}
	nothingHeld(t, l)
}

// What the object had gathered is lost with its process, so the run ends, whatever the policy; another run begins with a new one.
func TestAggregatesWhoseWorkerDies(t *testing.T) {
	leak.Check(t)
	const gives = `,"gives":{"n":{"dtype":"int64"},"x":{"dtype":"float32","shape":[2,4]}}`
	for class, want := range map[string]string{
		"Deadly": "SIGKILL", "Hangs": "took longer than its time limit of 200ms", "Unwritten": "is to be plain JSON, arrays of NumPy and bytes: Object of type set",
	} {
		var lost []Lost
		steps := numbersUpTo(21) + fmt.Sprintf(`{"aggregate":{"function":"gatherers:%s"%s},"failures":{"time_limit":0.2}},{"batch":{"size":2}}`, class, gives)
		l := openObject(t, steps, Config{OnError: Skip, MaxErrors: ErrorCount(100)}, Options{Lost: func(l Lost) { lost = append(lost, l) }})
		for range 2 {
			var err error
			batches := 0
			for ; err == nil; batches++ {
				var b *Batch
				if b, err = l.Next(t.Context()); err == nil {
					b.Release()
				}
			}
			var bad *sample.Error
			if err == io.EOF || errors.Is(err, ErrTooManyLost) || len(lost) > 0 || !strings.Contains(err.Error(), want) || !errors.As(err, &bad) ||
				class != "Unwritten" && (bad.Key != "7" || batches != 2 || !strings.Contains(err.Error(), "what its object had gathered is lost, and so the run ends")) {
				t.Errorf("%s: behind %d batches: %v, lost %v", class, batches, err, lost)
			}
			if err := l.Start(State{}, nil); err != nil {
				t.Fatal(err)
			}
		}
		nothingHeld(t, l)
	}
}

// Pictures that an object makes are pictures: operations on images, routes and workers in any number may follow.
func TestPicturesOfAggregates(t *testing.T) {
	leak.Check(t)
	steps := `{"source":{"function":"sources:Pairs","length":12,"fields":["image","label"]}},{"resize":{"size":[4,4]}},{"aggregate":{"function":"gatherers:Halves"}},
		{"route":{"by":"label","branches":[{"when":[0,1],"steps":[{"resize":{"size":[3,3]}}]},{"steps":["random_flip",{"resize":{"size":[3,3]}}]}]}},{"batch":{"size":5}}`
	l := openObject(t, steps, Config{}, Options{})
	var got []byte
	for b, err := range l.All(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		x, _ := b.Tensor("image")
		for i := range b.Rows() {
			got = append(got, x.Row(i).Data[0])
		}
		b.Release()
	}
	if fmt.Sprint(got) != "[0 0 1 1 2 2 3 3 4 4 5 5 6 6 7 7 8 8 9 9 10 10 11 11]" {
		t.Errorf("%v", got)
	}
	nothingHeld(t, l)
}

// Epochs of a number of steps are cut, and the next begins with a new object; a memory that is too small for what is on its way makes nobody wait for ever.
func TestAggregatesInEpochsOfSteps(t *testing.T) {
	leak.Check(t)
	steps := numbersUpTo(40) + `{"aggregate":{"function":"gatherers:Pairs"}},{"batch":{"size":3}}`
	for rank := range 2 {
		l := openObject(t, steps, Config{Epochs: new(3), WorldSize: 2, Rank: rank, StepsPerEpoch: new(2), Memory: new(int64(20000))}, Options{})
		first := fmt.Sprint(numbersOfEpoch(t, l, "n"))
		for range 2 {
			if next := fmt.Sprint(numbersOfEpoch(t, l, "n")); next != first {
				t.Errorf("%v, then %v", first, next)
			}
		}
		nothingHeld(t, l)
	}
}

// What cannot be is refused, with the reason.
func TestAggregatesThatAreRefused(t *testing.T) {
	leak.Check(t)
	pairs := numbersUpTo(9) + `{"aggregate":{"function":"gatherers:Pairs"}},`
	for _, c := range []struct {
		steps string
		c     Config
		want  string
	}{
		{pairs + `{"batch":{"size":2}}`, Config{WorldSize: 2}, `aggregate "aggregate" with world_size 2: ranks could yield different numbers of batches; say steps_per_epoch`},
		{pairs + `{"batch":{"size":2}}`, Config{OnError: Replace}, `on_error="replace": "aggregate" makes samples of several, and no other can be had in the place of a bad one; use "skip", or say "replace" at steps before it`},
		{pairs + `{"map":{"function":"stages:bare"},"failures":{"on_error":"replace"}},{"batch":{"size":2}}`, Config{}, `on_error="replace" of the step "map": "aggregate" makes samples of several`},
		{numbersUpTo(9) + `{"aggregate":{"function":"gatherers:Pairs"},"failures":{"retries":2}},{"batch":{"size":2}}`, Config{}, `the object has been given the sample already`},
		{numbersUpTo(9) + `{"route":{"by":"n","branches":[{"steps":[{"aggregate":{"function":"gatherers:Pairs"}}]}]}},{"batch":{"size":2}}`, Config{}, `gathers samples inside of "route", whose other branches go on meanwhile: takes its place before it, or behind it`},
		{numbersUpTo(9) + `{"aggregate":{"function":"gatherers:absent"}},{"batch":{"size":2}}`, Config{}, `absent`},
		{numbersUpTo(9) + `{"aggregate":{"function":"stages:bare"}},{"batch":{"size":2}}`, Config{}, `stages:bare has no method accumulate()`},
		{numbersUpTo(0) + `{"aggregate":{"function":"gatherers:Pairs"}},{"batch":{"size":2}}`, Config{}, `does not say what it gives, and no sample came there that would tell: say gives`},
		{numbersUpTo(9) + `{"aggregate":{"function":"gatherers:Pairs","fields":["m"]}},{"batch":{"size":2}}`, Config{}, `fields[0] is an unknown field "m"`},
	} {
		r, err := recipe.Parse([]byte(`{"headrace":1,"seed":7,"steps":[` + c.steps + `]}`))
		if err == nil {
			var l *Loader
			if l, err = Open(t.Context(), r, c.c, Options{Python: pythonHere(t)}); err == nil {
				l.Close()
			}
		}
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s\ngot  %v\nwant %s", c.steps, err, c.want)
		}
	}
	// Before it, other samples may come in the places of bad ones.
	l := openObject(t, numbersUpTo(9)+`{"map":{"function":"stages:bare"},"failures":{"on_error":"replace"}},{"aggregate":{"function":"gatherers:Pairs"}},{"batch":{"size":2}}`, Config{}, Options{})
	if got := fmt.Sprint(numbersOfEpoch(t, l, "n")); got != "[[1 2003] [4005 6007] [8]]" {
		t.Error(got)
	}
	nothingHeld(t, l)
}
