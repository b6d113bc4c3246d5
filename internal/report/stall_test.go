package report

import (
	"strings"
	"testing"
	"time"

	_ "github.com/headrace/headrace/op"
	"github.com/headrace/headrace/pipe"
)

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
