package headrace

import (
	"errors"
	"testing"

	"github.com/headrace/headrace/arena"
	"github.com/headrace/headrace/internal/compile"
	"github.com/headrace/headrace/internal/record"
	"github.com/headrace/headrace/internal/source"
	"github.com/headrace/headrace/recipe"
	"github.com/headrace/headrace/recipe/fuse"

	"pgregory.net/rapid"
)

// The ranks of any world share all samples, each once, and as many batches on each.
func TestRanksDivideAllSamples(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		world := rapid.IntRange(1, 9).Draw(t, "world")
		d := division{
			batch:   recipe.Batches{Size: rapid.IntRange(1, 9).Draw(t, "size"), DropLast: rapid.Bool().Draw(t, "drop last")},
			uneven:  rapid.Bool().Draw(t, "uneven"),
			several: rapid.Bool().Draw(t, "several"), groups: rapid.Bool().Draw(t, "groups"), multiplies: rapid.Bool().Draw(t, "multiplies"),
		}
		d.uneven = d.uneven && !d.batch.DropLast
		if rapid.Bool().Draw(t, "global") {
			d.batch = recipe.Batches{GlobalSize: d.batch.Size * world, DropLast: d.batch.DropLast}
		}
		samples := rapid.Int64Range(0, 500).Draw(t, "samples")

		came, batches := int64(0), map[int64]bool{}
		for rank := range world {
			if err := d.check(samples, world, rank); err != nil {
				t.Fatal(err)
			}
			s := d.divided(samples, world, rank)
			came += s.Len() - s.Wrapped()
			batches[s.Batches()] = true
		}
		apart := d.several || d.groups || d.batch.DropLast && d.multiplies
		switch {
		case d.batch.DropLast && !apart:
			full := int64(d.global(world, 0).Batch)
			if want := samples / full * full; came != want {
				t.Errorf("%d of %d samples come, want %d", came, samples, want)
			}
		case came != samples:
			t.Errorf("%d of %d samples come", came, samples)
		}
		if len(batches) > 1 && !d.uneven {
			t.Errorf("ranks have %v batches", batches)
		}
	})
}

// A global batch that the ranks cannot share is refused: of several sources all ranks
// must take the same turns.
func TestBatchesThatRanksCannotShare(t *testing.T) {
	for _, c := range []struct {
		global  int
		several bool
		bad     bool
	}{{8, false, false}, {8, true, false}, {10, false, false}, {10, true, true}, {3, false, true}} {
		d := division{batch: recipe.Batches{GlobalSize: c.global}, several: c.several}
		if err := d.check(100, 4, 1); (err != nil) != c.bad {
			t.Errorf("global batches of %d, several sources %v, four ranks: %v", c.global, c.several, err)
		}
	}
}

func TestRowsOfFullBatches(t *testing.T) {
	inner := &fuse.Plan{Batch: recipe.Batches{Size: 6}}
	outer := &fuse.Plan{Samples: fuse.Flow{Batches: inner}, Batch: recipe.Batches{GlobalSize: 20}}
	d := division{world: 4, rank: 1, batch: recipe.Batches{GlobalSize: 24}}
	for name, c := range map[string]struct {
		plan *fuse.Plan
		want int
	}{
		"the first":         {inner, 6},
		"a later, global":   {outer, 5},
		"a later of a size": {&fuse.Plan{Samples: fuse.Flow{Batches: inner}, Batch: recipe.Batches{Size: 7}}, 7},
		"lists":             {&fuse.Plan{Batch: recipe.Batches{Lists: true, Size: 9}}, 9},
	} {
		if got := d.rowsOf(c.plan); got != c.want {
			t.Errorf("%s has %d rows, want %d", name, got, c.want)
		}
	}
}

// Each term alone says that ranks are not in step.
func TestInStep(t *testing.T) {
	type all struct {
		d       design
		from    listing
		program compile.Program
	}
	for name, change := range map[string]func(*all){
		"":                    func(*all) {},
		"batches of own":      func(a *all) { a.from.batch = recipe.Batches{Size: 4} },
		"uneven":              func(a *all) { a.d.config.Uneven = true },
		"batches of batches":  func(a *all) { a.d.plan.Samples.Batches = &fuse.Plan{} },
		"several sources":     func(a *all) { a.from.several = true },
		"completion order":    func(a *all) { a.d.config.Order = CompletionOrder },
		"skipping":            func(a *all) { a.d.config.OnError = Skip },
		"a step that skips":   func(a *all) { a.d.recipe.Steps = []recipe.Step{{Failures: &recipe.Failures{OnError: "skip"}}} },
		"groups":              func(a *all) { a.from.groups = true },
		"an iterated source":  func(a *all) { a.from.sources = []*source.Listing{iteratedSource()} },
		"samples of several":  func(a *all) { a.program.Gathers = []string{"gather"} },
		" replacing is known": func(a *all) { a.d.config.OnError = Replace },
	} {
		a := all{d: design{config: Config{}.withDefaults()}, from: listing{division: division{batch: recipe.Batches{GlobalSize: 8}}}}
		change(&a)
		in := name == "" || name[0] == ' '
		if got := inStep(a.d, a.from, &a.program); got != in {
			t.Errorf("%q: in step is %v", name, got)
		}
	}
}

func iteratedSource() *source.Listing {
	return &source.Listing{Source: record.Source{Name: "stream"}, Contents: &source.Iterable{}}
}

// Each term alone says that an epoch may have fewer batches.
func TestExactCounts(t *testing.T) {
	for name, c := range map[string]struct {
		d       design
		from    listing
		program compile.Program
		exact   bool
	}{
		"all of a list":    {program: compile.Program{Exact: true}, exact: true},
		"a bound":          {program: compile.Program{}},
		"made of samples":  {program: compile.Program{Exact: true, Makes: true}},
		"made and counted": {program: compile.Program{Exact: true, Makes: true, Counted: true}, exact: true},
		"groups":           {program: compile.Program{Exact: true}, from: listing{division: division{groups: true}}},
		"lists of a sampler": {
			program: compile.Program{Exact: true}, from: listing{division: division{groups: true}},
			d: design{plan: fuse.Plan{Batch: recipe.Batches{Lists: true}}}, exact: true,
		},
		"iterated":            {program: compile.Program{Exact: true}, from: listing{sources: []*source.Listing{iteratedSource()}}},
		"skipping":            {program: compile.Program{Exact: true}, d: design{config: Config{OnError: Skip}}},
		"dropped":             {program: compile.Program{Exact: true, Drops: true}},
		"dropped and counted": {program: compile.Program{Exact: true, Drops: true, Counted: true}, exact: true},
		"dropped on ranks":    {program: compile.Program{Exact: true, Drops: true}, d: design{config: Config{WorldSize: 2}}, exact: true},
		"on uneven ranks":     {program: compile.Program{Exact: true, Drops: true}, d: design{config: Config{WorldSize: 2, Uneven: true}}},
	} {
		if got := isExact(c.d, c.from, &c.program); got != c.exact {
			t.Errorf("%s: exact is %v", name, got)
		}
	}
}

func TestSlotsOfThePool(t *testing.T) {
	for _, c := range []struct{ ready, filling, fits, want int }{
		{2, 0, 100, 5}, // two ready, one fills, two are held
		{2, 3, 100, 8},
		{2, 3, 7, 7},
		{2, 3, 1, 5}, // a budget that is too small is told by its own error
		{8, 0, 0, 11},
	} {
		if got := slotsFor(c.ready, c.filling, c.fits); got != c.want {
			t.Errorf("%d ready, %d that fill and room for %d: %d slots, want %d", c.ready, c.filling, c.fits, got, c.want)
		}
	}
}

func TestSamplesAhead(t *testing.T) {
	for _, c := range []struct {
		budget int64
		bytes  int
		want   int
	}{{1 << 40, 100, mostSamplesAhead}, {1 << 20, 1 << 20, 2}, {80 << 20, 1 << 20, 10}} {
		if got := samplesAhead(c.budget, c.bytes, 2); got != c.want {
			t.Errorf("samples of %d bytes in a budget of %d: %d are ready, want %d", c.bytes, c.budget, got, c.want)
		}
	}
}

func TestWorkersForCores(t *testing.T) {
	for cores, want := range map[int]int{1: 2, 2: 3, 3: 5, 8: 12, 1000: maxWorkers} {
		if got := workersFor(Config{}, cores); got != want {
			t.Errorf("%d cores have %d workers, want %d", cores, got, want)
		}
	}
	if got := workersFor(Config{Workers: new(7)}, 2); got != 7 {
		t.Errorf("7 workers are %d", got)
	}
}

// A consumer that waits learns that it holds too much; one that does not, at its next
// call.
func TestConsumerHoldsTooMuch(t *testing.T) {
	told := 0
	c := &consumer{holding: func(*arena.HeldError) { told++ }}
	c.held(&arena.HeldError{})
	var given error
	c.waits(func(err error) { given = err })
	c.held(&arena.HeldError{})
	if held := (*arena.HeldError)(nil); told != 2 || !errors.As(given, &held) {
		t.Errorf("told %d times, the wait ends with %v", told, given)
	}
	c.waits(nil)
	given = nil
	c.held(&arena.HeldError{})
	if given != nil {
		t.Errorf("a wait that is over ends with %v", given)
	}
}

// Segments are announced to the program first; its error is the arena's.
func TestConsumerIsToldOfSegments(t *testing.T) {
	failed := errors.New("no descriptors")
	c := &consumer{announcing: func(arena.Segment) error { return failed }}
	if err := c.announce(arena.Segment{Pooled: true}); err != failed {
		t.Errorf("announce gives %v", err)
	}
	if err := (&consumer{}).announce(arena.Segment{Pooled: true}); err != nil {
		t.Errorf("without anybody to tell, announce gives %v", err)
	}
}
