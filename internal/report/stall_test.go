package report

import (
	"strings"
	"testing"
	"time"

	_ "github.com/headrace/headrace/op"
	"github.com/headrace/headrace/pipe"
)

// A run that waits for the next sample of an object is idle; one that has something else
// to do, or is full, is not.
func TestIdleRunsAreDescribed(t *testing.T) {
	source := func(n, blocked int) pipe.StalledStage {
		return pipe.StalledStage{Name: "requests", Kind: "source", Operations: make([]pipe.StalledOperation, n), Blocked: blocked}
	}
	other := pipe.StalledStage{Name: "other", Kind: "source", Blocked: 1}
	for name, c := range map[string]struct {
		stages []pipe.StalledStage
		timed  bool
		want   string // how it begins; "": it is not idle
	}{
		"idle": {[]pipe.StalledStage{source(1, 0), {Name: "map", Kind: "map", Starved: 2}}, true,
			`the source "requests" has given nothing for 60 s, and the loader waits for it: everything that came before is done. This`},
		"a batch may not be full": {[]pipe.StalledStage{source(1, 0)}, false,
			`the source "requests" has given nothing for 60 s, and the loader waits for it: everything that came before is done. Samples may wait in a batch`},
		"another waits for its turn": {[]pipe.StalledStage{source(1, 0), other}, true, `the source "requests" has given`},
		"a function hangs":           {[]pipe.StalledStage{source(1, 0), {Name: "map", Kind: "map", Operations: make([]pipe.StalledOperation, 1)}}, true, ""},
		"a full stage":               {[]pipe.StalledStage{source(1, 0), {Name: "map", Kind: "map", Blocked: 1}}, true, ""},
		"files hang":                 {[]pipe.StalledStage{{Name: "files", Kind: "source", Operations: make([]pipe.StalledOperation, 1)}}, true, ""},
		"nothing":                    {[]pipe.StalledStage{source(0, 1)}, true, ""},
	} {
		r := pipe.StallReport{For: time.Minute, Waiting: true, Stages: c.stages}
		got, idle := Idle(r, []string{"requests", "other"}, c.timed)
		if idle != (c.want != "") || !strings.HasPrefix(got, c.want) {
			t.Errorf("%s: %s", name, got)
		}
	}
}

// Without an operation to blame, a stall is reported by who waits; of many samples, some
// are named.
func TestStallsAreDescribed(t *testing.T) {
	full := pipe.StallReport{For: time.Minute, Waiting: true,
		Stages: []pipe.StalledStage{{Name: "read", Starved: 2}, {Name: "decode", Blocked: 3}}}
	many := pipe.StallReport{For: time.Minute, Stages: []pipe.StalledStage{{Name: "read", Operations: make([]pipe.StalledOperation, 9)}}}
	for want, r := range map[string]pipe.StallReport{
		"nothing has moved for 60 s, and the program waits for a batch. No sample is being worked on: stages wait for memory, after decode. Let go of batches": full,
		"nothing has moved for 60 s; the stage read has not finished its work of 0 s, its work of 0 s, its work of 0 s, and 6 more. Check that":                many,
	} {
		if got := Stall(r, nil); !strings.HasPrefix(got, want) {
			t.Errorf("%s", got)
		}
	}
}
