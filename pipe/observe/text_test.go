package observe

import (
	"strings"
	"testing"
	"time"
)

// fields are the words of a line of a table.
func fields(text string, line int) string {
	return strings.Join(strings.Fields(strings.Split(text, "\n")[line]), " ")
}

func TestStatsAsText(t *testing.T) {
	s := Stats{
		Elapsed: 2 * time.Second, Start: 123456 * time.Nanosecond, Loop: time.Second, Waited: 250 * time.Millisecond, Yielded: 7,
		Stages: []StageStats{
			{Name: "read", Workers: 2, In: 9, Out: 8, Lost: 1, Skipped: 3, Starved: 1, Busy: 2, Blocked: 1},
			StageStats{Name: "decode", Workers: 1, In: 4, Busy: 8 * time.Millisecond,
				Sampled: true}.WithTimes([]Bucket{{1500 * time.Microsecond, 1}, {3 * time.Millisecond, 3}}),
			{Name: "idle"},
		},
		Queues: []QueueStats{
			{From: "read", To: "decode", Cap: 4, Len: 3, Gets: 10, Mean: 2.55, Empty: 1, Full: 3, Observed: 4,
				PutWait: 1234567, GetWait: 12},
			{From: "decode", To: "branch"}, // after a router
			{From: "idle", Cap: 2, Gets: 5, Observed: 2 * time.Second},
		},
	}
	text := s.String()
	for i, want := range []string{
		"stage workers in out lost skipped starved busy blocked gated mean p50 p90 p99 queue",
		"read 2 9 8 1 3 25% 50% 25% 0% 0s - - - 2.5/4",
		"decode 1 4 0 0 0 0% 100% 0% 0% 2ms ~3ms ~3ms ~3ms 0.0/0",
		"idle 0 0 0 0 0 - - - - 0s - - - 0.0/2",
		"queue gets gets/s now mean of empty full put wait get wait",
		"read → decode 10 2.5e+09 3 2.5 4 25% 75% 1.23ms 12ns",
		"idle → consumer 5 2.5 0 0.0 2 0% 0% 0s 0s",
		"7 items in 2s; the consumer waited 123µs for the first, then 25% of its loop",
	} {
		if got := fields(text, i); got != want {
			t.Errorf("line %d is\n%s, not\n%s", i, got, want)
		}
	}
	if text := (Stats{}).String(); !strings.HasSuffix(text, "0 items in 0s; the consumer waited 0s for the first, then - of its loop\n") {
		t.Error(text)
	}
	if (QueueStats{Gets: 3}).Rate() != 0 {
		t.Error("a rate of no time")
	}
}

func TestReportsAsText(t *testing.T) {
	r := Report{Items: 9, Stages: []StageProfile{
		{Name: "read", Trials: []Trial{{Workers: 1, In: 9, Out: 9, Rate: 50, Source: 50, Mean: 20 * time.Millisecond,
			P50: 18765 * time.Microsecond}}},
		{Name: "decode", Trials: []Trial{{Workers: 1, In: 9, Out: 8, Rate: 10, Source: 11},
			{Workers: 2, In: 9, Out: 8, Rate: 20, Source: 22, P50: time.Second, Sampled: true}}},
		{Name: "nothing", Trials: []Trial{{Workers: 1}}}, // of which nothing is known
	}}
	text := r.String()
	for i, want := range []string{
		"stage workers in out in/s of source/s mean p50 p99",
		"read 1 9 9 50 50 20ms 18.8ms -",
		"decode 1 9 8 10 11 - - -",
		"2 9 8 20 22 - ~1s -",
		"nothing 1 0 0 0 0 - - -",
		"decode is the slowest: 22 items of the source per second at best, with 2 workers",
	} {
		if got := fields(text, i); got != want {
			t.Errorf("line %d is\n%s, not\n%s", i, got, want)
		}
	}
	r.Stages[1].Trials = r.Stages[1].Trials[:1]
	if text := r.String(); !strings.HasSuffix(text, "11 items of the source per second at best, with 1 worker\n") {
		t.Error(text)
	}
	if (Report{}).Slowest().Trials != nil || strings.Contains((Report{}).String(), "slowest") {
		t.Error("of no stages one is the slowest")
	}
}

func TestHeadspaceAsText(t *testing.T) {
	h := Headspace{Items: 100, Flow: 2 * time.Second, Waited: time.Second, Cached: 500 * time.Millisecond}
	if want := "50 items/s from the flow, waiting for it 50% of the time; 200 items/s from memory, which is 4.00 times as fast\n"; h.String() != want {
		t.Errorf("%s, not %s", h, want)
	}
	if (Headspace{Flow: 1}).Ratio() != 0 {
		t.Error("a ratio of no time")
	}
}

func TestKindsOfSpansHaveNames(t *testing.T) {
	seen := map[string]bool{}
	for k := Operation; k <= Consuming; k++ {
		seen[k.String()] = true
	}
	if len(seen) != 8 || Operation.String() != "operation" || Consuming.String() != "consuming" || HandOver.String() != "hand-over" {
		t.Errorf("%v", seen)
	}
	if (Consuming+1).String() != "SpanKind(8)" || SpanKind(-1).String() != "SpanKind(-1)" {
		t.Error("of a kind that is none")
	}
}

// A report of a stall names the oldest operations, and who waits for whom.
func TestStallsAsText(t *testing.T) {
	hanging := []StalledOperation{{For: 90*time.Second + 1}, {For: time.Second, Source: "files", Epoch: 2, Pos: 7}}
	r := StallReport{For: time.Minute, Waiting: true, Queues: []QueueStats{{Cap: 4, Len: 1}, {}, {}}, Stages: []StalledStage{
		{Name: "decode", Operations: hanging, Starved: 1, Blocked: 2, Gated: 3},
		{Name: "many", Operations: make([]StalledOperation, 8)},
		{Name: "read"},
	}}
	zero := "an operation for 0s"
	want := `nothing has moved for 1m0s, and the consumer waits
decode: an operation for 1m30s, item 7 of files in epoch 2 for 1s, 1 waiting for the stage before, 2 waiting for the next stage, 3 waiting for a gate; 1 of 4 ready after it
many: ` + strings.Repeat(zero+", ", 5) + `and 3 more operations
read: it is through`
	if r.String() != want {
		t.Errorf("%s\nnot\n%s", r, want)
	}
	r.Stages[1].Operations = r.Stages[1].Operations[:6] // to say that there is one more is no shorter
	if r.Waiting = false; !strings.Contains(r.String(), "for 1m0s\n") || strings.Contains(r.String(), "more operations") {
		t.Error(r)
	}
}
