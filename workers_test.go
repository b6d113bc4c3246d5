package headrace_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	. "github.com/headrace/headrace"
	"github.com/headrace/headrace/internal/leak"
	"github.com/headrace/headrace/internal/phototest"
	"github.com/headrace/headrace/internal/tier"
	"github.com/headrace/headrace/pipe"
)

// Batches and states are those of a loop over the files, whenever the numbers of
// workers change, over epochs and after each resume.
func TestSetWorkersChangesNoBatch(t *testing.T) {
	leak.Check(t)
	root := phototest.Folder(t, 23)
	r := augmented(t, root, `{"size":4}`)
	for _, fuse := range []bool{true, false} {
		l := openLoader(t, r, Config{Epochs: new(4), Fuse: &fuse}, Options{})
		want := [][]row{}
		for range 4 {
			want = append(want, drain(t, l)...)
		}
		ctx, stop := context.WithCancel(t.Context())
		var all sync.WaitGroup
		names := []string{""}
		for _, s := range l.Info().Stages {
			if s.Workers > 1 {
				names = append(names, s.Name)
			}
		}
		for seed := range 2 {
			all.Go(func() {
				random := rand.New(rand.NewPCG(uint64(seed), 1))
				for ctx.Err() == nil {
					if err := l.SetWorkers(names[random.IntN(len(names))], 1+random.IntN(9)); err != nil {
						t.Error(err)
					}
					l.Info()
					<-time.After(time.Duration(random.IntN(500)) * time.Microsecond)
				}
			})
		}
		begin := l.Info().State
		for k := 0; k <= len(want); k += tier.Cases(11, 5) {
			if err := l.Start(begin, nil); err != nil {
				t.Fatal(err)
			}
			at := 0
			for at < len(want) {
				b, err := l.Next(ctx)
				if err == pipe.ErrDone {
					break
				} else if err != nil {
					continue // the end of an epoch
				}
				if got := rows(t, b); !slices.Equal(got, want[at]) {
					t.Fatalf("fuse %v: batch %d is another one", fuse, at)
				}
				b.Release()
				if at++; at == k {
					if err := l.Start(l.State(), nil); err != nil {
						t.Fatal(err)
					}
				}
			}
			if at != len(want) {
				t.Fatalf("%d batches, not %d", at, len(want))
			}
		}
		stop()
		all.Wait()
	}
}

// The number is reported by Info and Stats, and holds for the runs that follow.
func TestSetWorkersIsTold(t *testing.T) {
	leak.Check(t)
	root := phototest.Folder(t, 9)
	l := openLoader(t, augmented(t, root, `{"size":4}`), Config{Epochs: new(2), Workers: new(3)}, Options{})
	before := l.Info()
	check := func(what string, compute, read int) {
		t.Helper()
		if l.Info().Workers != compute {
			t.Errorf("%s: %d workers", what, l.Info().Workers)
		}
		info, stats := map[string]int{}, map[string]int{}
		for _, s := range l.Info().Stages {
			info[s.Name] = s.Workers
		}
		for _, s := range l.Stats().Stages {
			stats[s.Name] = s.Workers
		}
		last := before.Stages[len(before.Stages)-1].Name
		for _, told := range []map[string]int{info, stats} {
			if told[last] != compute || told["read"] != read || told["files"] != 1 {
				t.Errorf("%s: %v", what, told)
			}
		}
	}
	check("at first", 3, 8)
	if err := errors.Join(l.SetWorkers("", 7), l.SetWorkers("read", 2)); err != nil {
		t.Fatal(err)
	}
	check("at once", 7, 2)
	drain(t, l)
	if err := l.Start(l.State(), nil); err != nil {
		t.Fatal(err)
	}
	check("in another run", 7, 2)
	l.Stop()
	if err := l.SetWorkers("", 1); err != nil {
		t.Fatal(err)
	}
	if err := l.Start(before.State, nil); err != nil {
		t.Fatal(err)
	}
	check("set between runs", 1, 2)
	if before.Workers != 3 || before.Stages[len(before.Stages)-1].Workers != 3 {
		t.Error("an Info that was given has changed")
	}
	drain(t, l)
	for want, err := range map[string]error{
		`unknown stage "raed": did you mean "read"? the stages are`: l.SetWorkers("raed", 2),
		"the stage files has one worker by its nature":              l.SetWorkers("files", 2),
		"0 workers: must be from 1 to 256":                          l.SetWorkers("", 0),
		"257 workers: must be from 1 to 256":                        l.SetWorkers("read", 257),
	} {
		if !errors.Is(err, ErrConfig) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, not %s", err, want)
		}
	}
}
