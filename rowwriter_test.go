//go:build cgo

package headrace_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	. "github.com/headrace/headrace"
	"github.com/headrace/headrace/internal/leak"
	"github.com/headrace/headrace/internal/tier"
	"github.com/headrace/headrace/op/python"
	"github.com/headrace/headrace/pipe"
)

const severalGives = `"gives":{"small":{"dtype":"float32","shape":[3]},"image":{"dtype":"uint8","shape":[20,31,3]},"large":{"dtype":"float64","shape":[70,40]},"name":"text",
	"middle":{"dtype":"uint8","shape":[30,100]},"empty":{"dtype":"int16","shape":[0,3]},"number":{"dtype":"uint16"},"dark":{"dtype":"bool"}}`

// What workers write into the rows of batches is what they return to be stored and
// copied there.
func TestRowsAreWhatIsStored(t *testing.T) {
	leak.Check(t)
	root, _ := pictureFolder(t, 29)
	for round := range tier.Cases(3, 10) {
		seed := rand.Uint64()
		random := rand.New(rand.NewPCG(seed, 0))
		pick := func(of ...string) string { return of[random.IntN(len(of))] }
		where := pick("process", "thread")
		function := pick(`"function":"rows:several",`+pick(severalGives+",", ""), `"function":"rows:later",`+severalGives+`,`,
			`"function":"rows:mirrored","fields":["image"],"to":["a","b","image"],`)
		steps := fmt.Sprintf(`{"shuffle":{"seed":%d}},"decode_image",{"resize":{"size":[20,31]}},{"map":{%s"workers":%d,"where":%q,"copy":%v}%s},{"batch":{"size":%d,"drop_last":%v}}`,
			random.IntN(9), function, 1+random.IntN(3), where, random.IntN(2) == 0, pick("", `,"failures":{"on_error":"replace","retries":2,"wait":0,"time_limit":60}`), 1+random.IntN(9), random.IntN(2) == 0)
		if round%4 == 0 {
			steps = strings.Replace(steps, `"shape":[20,31,3]`, `"shape":[null,31,3]`, 1)
			steps = strings.Replace(steps, `{"batch"`, `{"resize":{"size":[20,31]}},{"batch"`, 1) // that function is not the last
		}
		t.Run(fmt.Sprint(round), func(t *testing.T) {
			t.Logf("seed %d: %s", seed, steps)
			c := Config{Epochs: new(2), Prefetch: new(1 + random.IntN(3)), Workers: new(1 + random.IntN(3))}
			split := c
			split.Fuse = new(false)
			l, got := onePass(t, root, steps, c, Options{})
			s, want := onePass(t, root, steps, split, Options{})
			if slices.EqualFunc(got, want, func(a, b map[string]any) bool { return fmt.Sprint(a) == fmt.Sprint(b) }) == false {
				t.Errorf("%v\nsplit %v", got, want)
			}
			if len(got) < 40 || strings.Contains(steps, `"drop_last":false`) && len(got) != 58 {
				t.Errorf("%d samples", len(got))
			}
			if (l.Compiled().Writers == nil) != (round%4 == 0) || s.Compiled().Writers != nil {
				t.Errorf("rows are written by %v, and split by %v", l.Compiled().Writers, s.Compiled().Writers)
			}
			nothingHeld(t, l)
			nothingHeld(t, s)
		})
	}
}

const rowTold = `"decode_image",{"resize":{"size":[90,80]}},{"map":{"function":"rows:told","workers":2,%s"gives":{"key":"text","large":{"dtype":"float32","shape":[100,100]},"image":{"dtype":"uint8","shape":[90,80,3]}}},
	"failures":{%s}},{"batch":{"size":4}}`

// A row that was begun and not finished, for its function has raised, died, taken too
// long, or given something else, is written again or given to another sample.
func TestRowsThatFail(t *testing.T) {
	leak.Check(t)
	root, _ := pictureFolder(t, 18)
	trouble := map[int]string{0: "raise", 3: "die", 6: "misfit", 7: "raise raise", 12: "hang", 17: "misfit"}
	again := map[int]string{0: "raise ok", 3: "die misfit ok", 6: "misfit raise ok", 12: "hang ok", 17: "misfit ok"}
	for name, c := range map[string]struct {
		where, failures string
		trouble         map[int]string
		lost            int
	}{
		"skip":             {``, `"on_error":"skip","time_limit":3`, trouble, 6},
		"skip in threads":  {`"where":"thread",`, `"on_error":"skip","time_limit":3`, trouble, 6},
		"retries":          {``, `"retries":2,"wait":0,"time_limit":3`, again, 0},
		"replace":          {``, `"on_error":"replace","time_limit":3`, trouble, 6},
		"retries and skip": {``, `"retries":1,"wait":0,"time_limit":3,"on_error":"skip"`, map[int]string{0: "raise ok", 4: "raise"}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // most of it is waiting for time limits
			var all [2]string
			for i, fuse := range []bool{true, false} {
				var mu sync.Mutex
				lost := 0
				o := Options{Python: pythonHere(t, troubles(t, c.trouble)), Lost: func(Lost) { mu.Lock(); defer mu.Unlock(); lost++ }}
				l, got := onePass(t, root, fmt.Sprintf(rowTold, c.where, c.failures), Config{Fuse: new(fuse)}, o)
				if all[i] = fmt.Sprint(got); lost != c.lost {
					t.Errorf("%d were lost, fused: %v", lost, fuse)
				}
				for row, n := range numbersOf(got) {
					if _, bad := c.trouble[n]; c.lost > 1 && bad {
						t.Errorf("%d came in row %d", n, row)
					}
				}
				nothingHeld(t, l)
			}
			if all[0] != all[1] {
				t.Errorf("%s\nsplit %s", all[0], all[1])
			}
		})
	}
}

// Batches that the consumer keeps are in memory that no worker has mapped, beyond the
// pool; whatever is kept stays as it was.
func TestRowsOfBatchesThatAreKept(t *testing.T) {
	leak.Check(t)
	root, _ := pictureFolder(t, 72)
	r := parseRecipe(t, `{"files":{"pattern":%q,"root":"/","label":"parent"}},"decode_image",{"resize":{"size":[20,31]}},{"map":{"function":"rows:several","workers":1}},{"batch":{"size":2}}`, root)
	l := openLoader(t, r, Config{Epochs: new(1), Prefetch: new(1)}, Options{Python: pythonHere(t)})
	var kept []*Batch
	unpooled := 0
	for b, err := range l.All(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		if _, _, pooled := b.Slot(); !pooled {
			unpooled++
		}
		kept = append(kept, b)
	}
	var got []map[string]any
	for _, b := range kept {
		got = append(got, samplesOf(b, l)...)
		b.Release()
	}
	if unpooled == 0 || unpooled == len(kept) {
		t.Errorf("%d of %d are beyond the pool", unpooled, len(kept))
	}
	_, want := onePass(t, root, `"decode_image",{"resize":{"size":[20,31]}},{"map":{"function":"rows:several","workers":1}},{"batch":{"size":2}}`, Config{Fuse: new(false)}, Options{})
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%v\nnot %v", got, want)
	}
	nothingHeld(t, l)
}

// While workers have many samples in hand, there are slots for all of them: a consumer
// that waits does not get one of its own for every second of it.
func TestRowsInHandLieInThePool(t *testing.T) {
	leak.Check(t)
	root, _ := pictureFolder(t, 64)
	r := parseRecipe(t, `{"files":{"pattern":%q,"root":"/","label":"parent"}},{"map":{"function":"rows:slow","workers":1,"gives":{"key":"text","large":{"dtype":"int64","shape":[5000]}}}},{"batch":{"size":2}}`, root)
	l := openLoader(t, r, Config{Epochs: new(1), Prefetch: new(1)}, Options{Python: pythonHere(t)})
	if n := l.Arena().Stats().Slots; n < 4+python.HostOf(l.Work()).Calls[0].PerWorker/2-1 {
		t.Errorf("%d slots", n)
	}
	n := 0
	for b := range inEpoch(t, l) {
		if _, _, pooled := b.Slot(); !pooled {
			t.Errorf("batch %d is beyond the pool", n)
		}
		n++
	}
}

// A loader that begins again writes into the same memory, with the same workers, as
// many as are asked for by the name of the step.
func TestRowsBeginAgain(t *testing.T) {
	leak.Check(t)
	root, _ := pictureFolder(t, 20)
	r := parseRecipe(t, `{"files":{"pattern":%q,"root":"/","label":"parent"}},"decode_image",{"resize":{"size":[20,31]}},{"map":{"function":"rows:several","workers":1}},{"batch":{"size":3}}`, root)
	l := openLoader(t, r, Config{Epochs: new(2)}, Options{Python: pythonHere(t)})
	whole, states := batchesOf(t, l)
	for cut, s := range states {
		if err := l.SetWorkers("map", 1+cut%3); err != nil {
			t.Fatal(err)
		}
		if err := l.Start(s, nil); err != nil {
			t.Fatal(err)
		}
		if rest, _ := batchesOf(t, l); !slices.Equal(rest, whole[cut:]) {
			t.Fatalf("cut at %d: %v, not %v", cut, rest, whole[cut:])
		}
		i := slices.IndexFunc(l.Info().Stages, func(s Stage) bool { return s.Name == "map+batch" })
		if l.Info().Stages[i].Workers != 1+cut%3 {
			t.Errorf("%+v", l.Info().Stages)
		}
	}
	if s := l.Stats(); s.Functions[0].Restarts != 0 {
		t.Errorf("%+v", s.Functions)
	}
	if err := l.SetWorkers("shuffle", 3); err == nil {
		t.Error("a step without workers was given some")
	}
	nothingHeld(t, l)
}

// A loader that is closed while workers write lets nobody write any more.
func TestRowsAreLeftAlone(t *testing.T) {
	leak.Check(t)
	root, _ := pictureFolder(t, 40)
	for _, where := range []string{"process", "thread"} {
		r := parseRecipe(t, `{"files":{"pattern":%q,"root":"/","label":"parent"}},{"map":{"function":"rows:slow","workers":2,"where":%q,"gives":{"key":"text","large":{"dtype":"int64","shape":[5000]}}}},{"batch":{"size":2}}`, root, where)
		l := openLoader(t, r, Config{}, Options{Python: pythonHere(t)})
		for range 3 {
			nextOf(t, l).Release()
		}
		nothingHeld(t, l)
		if _, err := l.Next(t.Context()); err != pipe.ErrDone {
			t.Error(err)
		}
	}
}
