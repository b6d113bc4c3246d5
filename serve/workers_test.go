package serve

import (
	"slices"
	"strings"
	"testing"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/internal/phototest"
	"github.com/headrace/headrace/wire"
)

// Another number of workers is an answer, and so is that there can be none; batches go
// on.
func TestWorkersAnswersWithTheStages(t *testing.T) {
	c := open(t, recipeFor(phototest.Folder(t, 22)), `{"epochs":1,"workers":2}`)
	ahead := []*wire.Batch{c.batch()}
	for _, ask := range []struct {
		stage   string
		workers int
		wrong   string
	}{{"", 5, ""}, {"read", 3, ""}, {"red", 3, `did you mean "read"?`}, {"", 0, "must be from 1 to 256"}, {"files", 2, "by its nature"}} {
		c.send(wire.KindWorkers, wire.Workers{Stage: ask.stage, Workers: ask.workers})
		var got struct {
			Workers int
			Stages  []headrace.Stage
			Error   string
		}
		f := c.receive()
		for f.Kind == wire.KindBatch { // sent before
			ahead = append(ahead, c.parse(f))
			f = c.receive()
		}
		if f.Kind != wire.KindStages {
			t.Fatalf("%v: %s", f.Kind, f.Payload)
		}
		c.decode(f, &got)
		if ask.wrong != "" {
			if !strings.Contains(got.Error, ask.wrong) || got.Stages != nil {
				t.Errorf("%+v: %+v", ask, got)
			}
			continue
		}
		read := slices.IndexFunc(got.Stages, func(s headrace.Stage) bool { return s.Name == "read" })
		last := got.Stages[len(got.Stages)-1]
		if got.Error != "" || got.Workers != 5 || last.Workers != 5 || ask.stage == "read" && got.Stages[read].Workers != 3 {
			t.Errorf("%+v: %+v", ask, got)
		}
	}
	c.next(wire.Next{Taken: uint32(len(ahead)), Waiting: true})
	if b := c.batch(); b.Step != int64(len(ahead)) {
		t.Errorf("the run goes on with step %d", b.Step)
	}
}
