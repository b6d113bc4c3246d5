package pipe_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync/atomic"
	"testing"

	"github.com/headrace/headrace/pipe"
	"github.com/headrace/headrace/pipe/pipetest"
)

// Wherever a run is cut and resumed, however often, with Until it ends where the
// uninterrupted one does.
func TestUntilIsWhereAllRunsEnd(t *testing.T) {
	numbers := pipe.From("numbers", pipetest.Numbers{N: 5, Value: func(epoch int, pos int64) int { return 100*epoch + int(pos) }})
	f := pipe.Map(numbers, restless, pipe.Opts{Name: "map", Workers: 2, Ordered: true})
	config := pipe.Config{Epoch: 1, Until: 4}
	want := ends(t, f, config, 1<<30)
	if fmt.Sprint(want.got) != "[100 101 102 103 104 end 200 201 202 203 204 end 300 301 302 303 304 end]" {
		t.Fatal(want.got)
	}
	for most := range 16 {
		var got []string
		config := config
		for n := 0; ; n++ {
			part := ends(t, f, config, most+1)
			got = append(got, part.got...)
			if part.done {
				break
			}
			if config.Resume = part.state; n > 100 {
				t.Fatal("it never ends")
			}
		}
		if fmt.Sprint(got) != fmt.Sprint(want.got) {
			t.Errorf("after every %d: %v\nwant %v", most+1, got, want.got)
		}
	}
}

type ended struct {
	got   []string
	done  bool
	state pipe.State
}

// ends reads so many items and ends of epochs.
func ends(t *testing.T, f pipe.Flow[int], c pipe.Config, most int) (e ended) {
	run := start(t, f, c)
	defer run.Close()
	for range most {
		v, err := run.Next(context.Background())
		switch {
		case err == nil:
			e.got = append(e.got, fmt.Sprint(v))
		case err == io.EOF:
			e.got = append(e.got, "end")
		case err == pipe.ErrDone:
			e.done = true
			return e
		default:
			t.Fatal(err)
		}
		e.state = run.State()
	}
	return e
}

// A run that is resumed after its last epoch, or begins there, has nothing to do, and
// says so; its state stays what it was.
func TestUntilOfARunThatIsDone(t *testing.T) {
	f := pipe.Map(pipe.From("numbers", pipetest.Numbers{N: 5}), restless, pipe.Opts{Name: "map", Workers: 2})
	done := pipe.State{Version: pipe.StateVersion, Sources: map[string]pipe.SourceState{"numbers": {Epoch: 3}}}
	for _, c := range []pipe.Config{{Resume: done, Until: 3}, {Resume: done, Until: 1}, {Epoch: 3, Until: 3}} {
		begun := 0
		var over atomic.Int64 // stages end at once
		c.Hooks = pipe.Hooks{Stage: func(pipe.StageInfo) func(pipe.StageStats) {
			begun++
			return func(pipe.StageStats) { over.Add(1) }
		}}
		run := start(t, f, c)
		for range 2 {
			if v, err := run.Next(t.Context()); err != pipe.ErrDone {
				t.Errorf("%d, %v", v, err)
			}
		}
		if s := run.State(); s.Sources["numbers"].Epoch != 3 || s.Sources["numbers"].Low != 0 {
			t.Errorf("%+v", s)
		}
		if err := run.Close(); err != nil || begun != 2 || over.Load() != 2 {
			t.Errorf("%v, %d stages began, %d ended", err, begun, over.Load())
		}
	}
}

// Epochs counts from where a run begins, Until from 0; both at once are a mistake.
func TestUntilMistakes(t *testing.T) {
	numbers := pipe.From("numbers", pipetest.Numbers{N: 5})
	for want, c := range map[string]pipe.Config{
		"Config.Until is -1":                 {Until: -1},
		"Config has Epochs 2 and Until 3":    {Until: 3, Epochs: 2},
		"Config has Epochs -1 and Until 3":   {Until: 3, Epochs: -1},
		"Config.Until is 2251799813685248: ": {Until: 1 << 51},
	} {
		if _, err := pipe.Start(t.Context(), numbers, c); !contains(err, want) {
			t.Errorf("wanted %q, got %v", want, err)
		}
	}
	run := start(t, numbers, pipe.Config{Resume: pipe.State{Version: 1, Sources: map[string]pipe.SourceState{"numbers": {Epoch: 7, Low: 3}}}, Epochs: 2})
	defer run.Close()
	for _, want := range []int{2, 5} {
		if got := len(collect(t, run)); got != want {
			t.Errorf("%d items, want %d", got, want)
		}
	}
	if _, err := run.Next(t.Context()); !errors.Is(err, pipe.ErrDone) {
		t.Error(err)
	}
}
