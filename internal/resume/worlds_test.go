package resume_test

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/headrace/headrace/internal/leak"
	"github.com/headrace/headrace/internal/phototest"
	"github.com/headrace/headrace/order"
	"github.com/headrace/headrace/pipe"
	"github.com/headrace/headrace/recipe"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/internal/loadertest"
)

// rankRun is one rank's run over one epoch.
type rankRun struct {
	batches [][]loadertest.Row
	state   headrace.State
}

// runRank goes on from records, as a rank of a world, for some batches of the epoch; a
// negative number is all that are left.
func runRank(t *testing.T, r recipe.Recipe, c headrace.Config, records []headrace.State, batches int) rankRun {
	t.Helper()
	l, err := headrace.Open(t.Context(), r, c, headrace.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	from := l.Info().State
	if records != nil {
		if from, err = l.Gather(records); err != nil {
			t.Fatalf("rank %d of %d: %v", c.Rank, c.WorldSize, err)
		}
	}
	if err := l.Start(from, nil); err != nil {
		t.Fatal(err)
	}
	run := rankRun{state: l.State()}
	for len(run.batches) != batches && run.state.Epoch == from.Epoch {
		b, err := l.Next(t.Context())
		if errors.Is(err, io.EOF) || errors.Is(err, pipe.ErrDone) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		run.batches = append(run.batches, loadertest.Rows(t, b))
		b.Release()
		run.state = l.State()
	}
	if again, err := l.Gather([]headrace.State{run.state}); err != nil || !slices.Equal(again.Sources["files"].Done, run.state.Sources["files"].Done) {
		t.Fatalf("its own record does not fit: %v", err)
	}
	return run
}

// runWorld runs all ranks of a world.
func runWorld(t *testing.T, r recipe.Recipe, c headrace.Config, world int, records []headrace.State,
	batches func(rank int) int) (runs []rankRun) {
	t.Helper()
	for rank := range world {
		c.WorldSize, c.Rank = world, rank
		runs = append(runs, runRank(t, r, c, records, batches(rank)))
	}
	return runs
}

// global are the batches of all ranks, put together.
func global(runs []rankRun) (all [][]loadertest.Row) {
	for k := range runs[0].batches {
		var b []loadertest.Row
		for _, run := range runs {
			b = append(b, run.batches[k]...)
		}
		all = append(all, b)
	}
	return all
}

func equalBatches(a, b [][]loadertest.Row) bool { return slices.EqualFunc(a, b, slices.Equal) }

// A run with global batches is stopped and goes on under other world sizes, each time
// with the record of one rank, whichever. The batches to come are, to the byte, those
// that the epoch would have had in that world from its start.
func TestGlobalBatchesAreTheSameAfterAChangeOfWorldSize(t *testing.T) {
	leak.Check(t)
	root := phototest.Folder(t, 50)
	r := loadertest.Augmented(t, root, `{"global_size":8}`)
	const count = 7
	var whole [6][][]loadertest.Row
	for world := 1; world < len(whole); world++ {
		whole[world] = global(runWorld(t, r, headrace.Config{Epochs: new(1)}, world, nil, func(int) int { return -1 }))
		if len(whole[world]) != count {
			t.Fatalf("%d batches", len(whole[world]))
		}
	}
	random := rand.New(rand.NewPCG(1, 7))
	for range 6 {
		had := 0
		var record []headrace.State
		var worlds []string
		for had < count {
			world, n := 1+random.IntN(5), 1+random.IntN(4)
			worlds = append(worlds, fmt.Sprintf("%d batches by %d ranks", n, world))
			runs := runWorld(t, r, headrace.Config{Epochs: new(1), Workers: new(1 + random.IntN(4))},
				world, record, func(int) int { return n })
			n = min(n, count-had)
			if got := global(runs); !equalBatches(got, whole[world][had:had+n]) {
				t.Fatalf("%v: the last differ", worlds)
			}
			had += n
			record = []headrace.State{runs[random.IntN(world)].state}
			if s := record[0]; had < count && (s.Batches != int64(had) || len(s.Sources["files"].Done) > 1) {
				t.Fatalf("%v: the record is %+v", worlds, s)
			}
		}
		if record[0].Epoch != 1 || len(record[0].Sources["files"].Done) != 0 {
			t.Fatalf("%v: in the end the record is %+v", worlds, record[0])
		}
	}
}

// Every other pipeline gives every sample exactly once: batches of a size for each
// rank, in input order or not, with ranks that are not in step.
func TestEverySampleComesOnceAfterChangesOfWorldSize(t *testing.T) {
	leak.Check(t)
	root := phototest.Folder(t, 61)
	random := rand.New(rand.NewPCG(3, 7))
	for try := range 12 {
		r := loadertest.Augmented(t, root, []string{`{"size":3}`, `{"global_size":7}`}[try%2])
		c := headrace.Config{Epochs: new(1), Order: []headrace.Order{headrace.InputOrder,
			headrace.CompletionOrder}[try/2%2], Workers: new(4)}
		seen := make(map[string]int)
		var records []headrace.State
		history := ""
		for changes := 0; ; changes++ {
			world := 1 + random.IntN(5)
			history += fmt.Sprintf(" %d", world)
			runs := runWorld(t, r, c, world, records, func(int) int {
				if changes == 3 {
					return -1
				}
				return random.IntN(4)
			})
			records = nil
			for _, run := range runs {
				for _, row := range slices.Concat(run.batches...) {
					seen[row.Key]++
				}
				records = append(records, run.state)
			}
			if !slices.ContainsFunc(records, func(s headrace.State) bool { return s.Epoch == 0 }) {
				wrapped := 0
				for key, n := range seen {
					if wrapped += n - 1; n > 2 {
						t.Errorf("worlds%s: %s came %d times", history, key, n)
					}
				}
				if len(seen) != 61 || wrapped >= world {
					t.Errorf("worlds%s, %s: %d samples, and %d twice", history, c.Order, len(seen), wrapped)
				}
				break
			}
			random.Shuffle(len(records), func(i, j int) { records[i], records[j] = records[j], records[i] })
		}
	}
}

// What was lost is finished: it is not tried again by whoever gets what is left. What
// is quarantined stays so, and its loss is counted where it comes.
func TestLossesAreNotTriedAgainUnderAnotherWorldSize(t *testing.T) {
	leak.Check(t)
	root := phototest.Folder(t, 30)
	r := loadertest.Augmented(t, root, `{"global_size":4}`)
	first := runRank(t, r, headrace.Config{Epochs: new(1)}, nil, 3)
	bad := first.batches[1][2].Key
	phototest.Spoil(t, root, filepath.Base(bad))
	skipped := runRank(t, r, headrace.Config{Epochs: new(1), OnError: headrace.Skip}, nil, 3)
	if lost := skipped.state.Sources["files"].Lost; len(lost) != 1 || len(skipped.batches) != 3 {
		t.Fatalf("lost %v", lost)
	}
	skipped.state.Quarantine = []int64{29, 4, 29}
	runs := runWorld(t, r, headrace.Config{Epochs: new(1)}, 1, []headrace.State{skipped.state}, func(int) int { return 0 })
	if got := runs[0].state; len(got.Sources["files"].Lost) != 1 || len(got.Sources["files"].Done) != 0 {
		t.Errorf("in the same world: %+v", got)
	}
	keys := make(map[string]int)
	for rank := range 2 {
		l := loadertest.Open(t, r, headrace.Config{Epochs: new(1), WorldSize: 2, Rank: rank}, headrace.Options{})
		s, err := l.Gather([]headrace.State{skipped.state})
		if err != nil || !slices.Equal(s.Quarantine, []int64{4, 29}) {
			t.Fatalf("%+v, %v", s, err)
		}
		s.Quarantine = nil
		if err := l.Start(s, nil); err != nil {
			t.Fatal(err)
		}
		for _, row := range slices.Concat(loadertest.Drain(t, l)...) {
			keys[row.Key]++
		}
	}
	for _, row := range slices.Concat(skipped.batches...) {
		keys[row.Key]++
	}
	if len(keys) != 29 || keys[bad] != 0 {
		t.Errorf("%d samples, of which the one that was lost %d times", len(keys), keys[bad])
	}
}

func TestRecordsThatTellTooLittleOfAnotherWorldAreRefused(t *testing.T) {
	leak.Check(t)
	root := phototest.Folder(t, 40)
	inStep, apart := loadertest.Augmented(t, root, `{"global_size":8}`), loadertest.Augmented(t, root, `{"size":2}`)
	saved := func(r recipe.Recipe, world int) (states []headrace.State) {
		for _, run := range runWorld(t, r, headrace.Config{Epochs: new(2)}, world, nil, func(int) int { return 2 }) {
			states = append(states, run.state)
		}
		return states
	}
	four, fourApart := saved(inStep, 4), saved(apart, 4)
	change := func(s headrace.State, f func(*headrace.State)) headrace.State {
		at := s.Sources["files"]
		s.Sources = map[string]headrace.SourceState{"files": at}
		f(&s)
		return s
	}
	at := func(f func(*headrace.SourceState)) func(*headrace.State) {
		return func(s *headrace.State) {
			at := s.Sources["files"]
			f(&at)
			s.Sources["files"] = at
		}
	}
	three := fourApart[:3]
	for name, c := range map[string]struct {
		recipe  recipe.Recipe
		records []headrace.State
		want    string // none: it is taken
	}{
		"in step, one":  {inStep, four[2:3], ""},
		"in step, some": {inStep, four[1:3], ""},
		"in step, all":  {inStep, four, ""},
		"all":           {apart, fourApart, ""},
		"none":          {apart, nil, "there is no record"},
		"one": {apart, fourApart[1:2], "it was saved with world_size 4 by rank 1, this " +
			"is rank 1 of 3: dividing the rest again needs the records of all ranks, and there is none of ranks 0, 2, 3"},
		"one is missing": {apart, three, "there is none of rank 3"},
		"another recipe": {apart, four, "the record of rank 0 of 4: headrace: " +
			"state does not fit: it was saved by another pipeline: step "},
		"twice":               {apart, append(slices.Clone(three), three[0]), "there are two states of rank 0"},
		"of different worlds": {apart, append(slices.Clone(three), saved(apart, 2)...), "world_size is 4 in one and 2 in another"},
		"no such rank": {apart, append(slices.Clone(three), change(fourApart[3],
			func(s *headrace.State) { s.Rank = 4 })), "there is a state of rank 4, and the world_size is 4"},
		"no such world": {apart,
			[]headrace.State{change(fourApart[3], func(s *headrace.State) { s.WorldSize = -1 })}, "order: the world size is -1"},
		"an epoch ahead": {apart, append(slices.Clone(three), change(fourApart[3],
			func(s *headrace.State) { s.Epoch = 1 })), "rank 3 was in epoch 1 and rank 0 still in epoch 0"},
		"two epochs ahead": {apart, append(slices.Clone(three), change(fourApart[3],
			func(s *headrace.State) { s.Epoch, s.Batches, s.Sources = 2, 0, nil })), "rank 3 was in epoch 2"},
		"another part": {apart, append(slices.Clone(three), change(fourApart[3],
			at(func(s *headrace.SourceState) { s.Done = [][2]int64{{0, 2}} }))), "ranks 0 and 3 are of different runs"},
		"half finished": {apart,
			append(slices.Clone(three), change(fourApart[3],
				at(func(s *headrace.SourceState) { s.Lost, s.Open = []int64{5}, []int64{5} }))),
			"rank 3 has samples that are partly finished: a batch that is taken apart, " +
				"or what was made of one sample; these cannot be given to another rank: resume with world_size 4,"},
		"in step, but lost some": {inStep,
			[]headrace.State{change(four[0], at(func(s *headrace.SourceState) { s.Lost = []int64{1} }))}, "there is none of ranks 1, 2, 3"},
		"in step, within a batch": {inStep,
			[]headrace.State{change(four[0], at(func(s *headrace.SourceState) { s.Position = 3 }))},
			"its position is 3, which is not between two batches"},
		"in step, at other places": {inStep, []headrace.State{four[0],
			change(four[1], func(s *headrace.State) { s.Batches = 1 })}, "there is none of ranks 2, 3"},
		"beyond the end": {apart,
			[]headrace.State{change(fourApart[0], at(func(s *headrace.SourceState) { s.Position = 1000 }))}, "the record of rank 0 of 4"},
		"a part beyond the end": {apart,
			[]headrace.State{change(fourApart[0], at(func(s *headrace.SourceState) { s.Done = [][2]int64{{0, 41}} }))}, "finished range"},
	} {
		t.Run(name, func(t *testing.T) {
			l := loadertest.Open(t, c.recipe, headrace.Config{WorldSize: 3, Rank: 1, Epochs: new(2)}, headrace.Options{})
			s, err := l.Gather(c.records)
			if c.want == "" {
				if err != nil || s.WorldSize != 3 || s.Rank != 1 || s.Batches != 2 {
					t.Fatalf("%+v, %v", s, err)
				}
				return
			}
			if !errors.Is(err, headrace.ErrState) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v\nwant %s", err, c.want)
			}
			if err := l.Start(headrace.State{Epoch: 1}, nil); err != nil {
				t.Errorf("and then nothing goes: %v", err)
			}
		})
		// The record of this rank among them makes none of the others right.
		if len(c.records) < 3 || c.want == "" || strings.Contains(c.want, "none of rank") || name == "half finished" {
			continue
		}
		t.Run(name+", with one's own", func(t *testing.T) {
			l := loadertest.Open(t, c.recipe, headrace.Config{WorldSize: 4, Rank: 1, Epochs: new(2)}, headrace.Options{})
			if s, err := l.Gather(c.records); !errors.Is(err, headrace.ErrState) || !strings.Contains(err.Error(), c.want) && name != "another recipe" {
				t.Errorf("%+v, %v\nwant %s", s, err, c.want)
			}
		})
	}
}

// The record of another rank of the same world is refused by Start, and taken by Gather
// where it tells of all ranks.
func TestTheRecordOfAnotherRank(t *testing.T) {
	leak.Check(t)
	root := phototest.Folder(t, 40)
	r := loadertest.Augmented(t, root, `{"global_size":7}`) // uneven parts: positions of ranks differ
	whole := runWorld(t, r, headrace.Config{Epochs: new(1)}, 3, nil, func(int) int { return -1 })
	other := runRank(t, r, headrace.Config{Epochs: new(1), WorldSize: 3, Rank: 0}, nil, 2).state
	l := loadertest.Open(t, r, headrace.Config{Epochs: new(1), WorldSize: 3, Rank: 2}, headrace.Options{})
	if err := l.Start(other, nil); !errors.Is(err, headrace.ErrState) || !strings.Contains(err.Error(), "it is the record of rank 0, this is rank 2") {
		t.Errorf("Start: %v", err)
	}
	if got := runRank(t, r, headrace.Config{Epochs: new(1), WorldSize: 3, Rank: 2}, []headrace.State{other}, -1); !equalBatches(got.batches, whole[2].batches[2:]) {
		t.Error("the batches are not those that were left")
	}
}

// With several sources, each is divided again.
func TestMergesGoOnUnderAnotherWorldSize(t *testing.T) {
	leak.Check(t)
	one, two := phototest.Folder(t, 31), phototest.Folder(t, 17)
	for _, how := range []string{"round_robin", "arrival"} {
		r := loadertest.Recipe(t, `{"merge":{"of":[[{"files":{"pattern":%q,"root":"/","label":"parent"},"name":"one"},{"shuffle":{"seed":3},"name":"order"}],[{"files":{"pattern":%q,"root":"/","label":"parent"},"name":"two"}]],"order":%q}},
			"decode_image",{"center_crop":{"size":8}},{"batch":{"size":2}}`, one, two, how)
		c := headrace.Config{Epochs: new(1), Workers: new(3)}
		seen := make(map[string]int)
		var records []headrace.State
		for phase, world := range []int{2, 3, 1} {
			var next []headrace.State
			for rank := range world {
				c.WorldSize, c.Rank = world, rank
				l := loadertest.Open(t, r, c, headrace.Options{})
				if records != nil {
					s, err := l.Gather(records)
					if err != nil || l.Start(s, nil) != nil {
						t.Fatal(err)
					}
				}
				for n := 0; n < 3+rank || phase == 2; n++ {
					b, err := l.Next(t.Context())
					if err == io.EOF {
						break
					}
					if err != nil {
						t.Fatal(err)
					}
					for _, row := range loadertest.Rows(t, b) {
						seen[row.Key]++
					}
					b.Release()
				}
				next = append(next, l.State())
			}
			records = next
		}
		first := make(map[string]bool) // these fill up what is not dealt to all ranks
		files, shuffled := loadertest.Photographs(t, two), loadertest.Photographs(t, one)
		permutation := order.Permute(int64(len(shuffled)), 3, 0)
		for pos := range 2 {
			first[files[pos]], first[shuffled[permutation.At(int64(pos))]] = true, true
		}
		for key, n := range seen {
			if n > 2 || n > 1 && !first[key] {
				t.Errorf("%s: %s came %d times", how, key, n)
			}
		}
		if len(seen) != 48 || records[0].Epoch != 1 {
			t.Errorf("%s: %d samples of 48, then %+v", how, len(seen), records[0])
		}
	}
}

// What remains of an epoch that was cut is finished, for anyone who has come to the next
// one; ranks that are not there yet are.
func TestStepsPerEpochUnderAnotherWorldSize(t *testing.T) {
	leak.Check(t)
	root := phototest.Folder(t, 40)
	r := loadertest.Augmented(t, root, `{"size":2}`)
	c := headrace.Config{Epochs: new(2), StepsPerEpoch: new(5)}
	first := runWorld(t, r, c, 2, nil, func(int) int { return 3 })
	records := []headrace.State{first[0].state, first[1].state}
	for _, run := range runWorld(t, r, c, 3, records, func(int) int { return -1 }) {
		if len(run.batches) != 2 || run.state.Epoch != 1 {
			t.Errorf("%d batches after three of five; then %+v", len(run.batches), run.state)
		}
	}
}
