package stats_test

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/headrace/headrace/pipe"
	"github.com/headrace/headrace/stats"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

var rewrite = flag.Bool("rewrite", false, "write the expected texts again")

const fused = "decode_image+random_resized_crop+random_flip+batch"

// training is a run whose decoder limits.
func training() stats.Snapshot {
	return stats.Snapshot{
		Stats: pipe.Stats{
			Elapsed: 12345678901, Start: 345 * time.Millisecond, Loop: 12 * time.Second, Waited: 11 * time.Second, Yielded: 125,
			Stages: []pipe.StageStats{
				{Name: "files", Kind: "source", Workers: 1, In: 4012, Out: 4012, Starved: 0, Busy: 4 * time.Millisecond,
					Blocked: 12300 * time.Millisecond, P50: 410, P90: 800, P99: 1200, Sampled: true},
				{Name: "read", Kind: "map", Workers: 6, In: 4009, Out: 4007, Starved: time.Second,
					Busy: 9 * time.Second, Blocked: 64 * time.Second, P50: 1234567, P90: 2 * time.Millisecond,
					P99: 20 * time.Millisecond, Bytes: 1 << 30},
				{Name: fused, Kind: "fill", Workers: 2, In: 4000, Out: 127, Starved: 300 * time.Millisecond,
					Busy: 24 * time.Second, Blocked: 100 * time.Millisecond, P50: 5 * time.Millisecond,
					P90: 8 * time.Millisecond, P99: 999700 * time.Microsecond},
			},
			Queues: []pipe.QueueStats{
				{From: "files", To: "read", Cap: 1, Len: 1, Puts: 4012, Gets: 4009, Mean: 0.98,
					Full: 98 * time.Second, Observed: 100 * time.Second},
				{From: "read", To: fused, Cap: 12, Len: 12, Puts: 4007, Gets: 4000, Mean: 11.4,
					Empty: time.Second, Full: 90 * time.Second, Observed: 100 * time.Second},
				{From: fused, To: "", Cap: 2, Len: 1, Puts: 127, Gets: 125, Mean: 0.043, Empty: 96 * time.Second,
					Full: 50 * time.Millisecond, Observed: 100 * time.Second},
			},
		},
		Memory: stats.Memory{
			Limit: 512 << 20, Used: 84 << 20, Peak: 102 << 20,
			Purposes: []stats.Purpose{{Name: "batches", Used: 61 << 20, Peak: 61 << 20},
				{Name: "files", Used: 3 << 20, Peak: 5 << 20}, {Name: "decoder", Peak: 999}},
			Batches: stats.Batches{Slots: 5, Leased: 2, Bytes: 61 << 20},
		},
		Decoder: "libjpeg-turbo",
	}
}

// used are the resources of a trainer, an engine, and workers of two stages.
func used() stats.Resources {
	process := func(name string, pid int, cpu time.Duration, resident int64) stats.Process {
		return stats.Process{
			Name: name, PID: pid, User: cpu, System: cpu / 10, Threads: 3, Resident: new(resident),
			Shared: new(resident / 4), Peak: new(resident * 2), Swapped: new(int64(0)),
			Read: new(resident / 2), ReadDisk: new(int64(4096)), Written: new(int64(0)), WrittenDisk: new(int64(0)),
		}
	}
	hidden := process("map(mix)", 15, 0, 0)
	hidden.Read, hidden.ReadDisk, hidden.Written, hidden.WrittenDisk = nil, nil, nil, nil
	return stats.Resources{
		Elapsed: 12345678901, Cores: 8, Network: &stats.Network{Received: 123456789, Sent: 1},
		Processes: []stats.Process{
			process("trainer", 11, 3*time.Second, 3<<30), process("engine", 12, 22*time.Second, 84<<20),
			process("map(augment)", 13, 10*time.Second, 100<<20), process("map(augment)", 14, 11*time.Second, 120<<20), hidden,
		},
	}
}

// cases are snapshots by the names of the files with their texts.
func cases() map[string]stats.Snapshot {
	slow := training()
	slow.Waited = 30 * time.Millisecond
	slow.Memory.Batches.Leased, slow.Memory.Batches.Unpooled = 9, 4

	gated := training()
	gated.Stages[2].Gated = 9 * time.Second
	gated.Stages[1].Gated = time.Millisecond

	disk := training()
	disk.Stages[1].Busy, disk.Stages[1].Blocked = 73*time.Second, 0
	disk.Stages[2].Starved, disk.Stages[2].Busy = 21*time.Second, 3*time.Second
	disk.Stages[1].Lost, disk.Stages[2].Lost = 12, 1234567

	calm := training()
	calm.Stages[2].Starved = 60 * time.Second

	items := training()
	items.Stages, items.Queues = items.Stages[:2], items.Queues[:1]
	items.Stages[0].In, items.Stages[0].Out, items.Yielded = 123456789012, 123456789012, 123456789010
	items.Stages[1].Workers = 1
	items.Stages[1].Busy *= 100
	items.Memory, items.Decoder = stats.Memory{}, ""

	begun := training()
	begun.Yielded, begun.Loop, begun.Waited = 0, 0, 0

	first := training() // only one has come, which tells nothing of a loop
	first.Yielded, first.Loop, first.Waited = 1, 70*time.Microsecond, 0

	cold := training() // and the loop has hardly begun
	cold.Start, cold.Loop, cold.Waited = 9*time.Second, 3*time.Second, 50*time.Millisecond
	cold.Functions = []stats.Function{{Stage: "map(f)", ImportTime: 6500 * time.Millisecond}, {Stage: "map(g)"}}

	main := training()
	main.Main = 9 * time.Second

	handed := training() // the engine is always ahead, and batches are tiny
	handed.Waited, handed.Handed = 7*time.Second, 6900*time.Millisecond

	bad := training()
	bad.Stages[1].Lost, bad.Stages[1].Retried = 3, 21
	bad.Stages[2].Replaced, bad.Stages[2].Retried = 1234567, 1
	bad.Resources = used()

	alone := training()
	alone.Resources = stats.Resources{Elapsed: 10 * time.Second, Cores: 1,
		Processes: []stats.Process{{Name: "engine", PID: 7, User: 9 * time.Second}}}
	whole := training()
	whole.Stages = append(whole.Stages[:2:2], pipe.StageStats{Name: "group batch", Kind: "aggregate", Workers: 1, In: 4000, Out: 125},
		pipe.StageStats{Name: "batch", Kind: "fill", Workers: 2, In: 125, Out: 125})

	ahead := training() // a program that imported for long before it asked
	ahead.Stages[2].Ahead = 1500
	cached := training() // and one that asked for no more than there was
	cached.Stages[2].Ahead = cached.Stages[2].In
	return map[string]stats.Snapshot{
		"ahead": ahead, "cached": cached, "whole": whole, "decoder": training(), "consumer": slow,
		"processors": gated, "disk": disk, "calm": calm, "items": items, "begun": begun, "first": first, "cold": cold,
		"main": main, "handed": handed, "nothing": {}, "bad": bad, "alone": alone,
	}
}

// A source and a step whose functions share two workers: the source waits for them all
// the time, and works little.
func TestWorkersThatStagesShare(t *testing.T) {
	s := stats.Snapshot{Stats: pipe.Stats{Elapsed: 10 * time.Second, Yielded: 100, Loop: 10 * time.Second,
		Waited: 10 * time.Second, Stages: []pipe.StageStats{
			{Name: "read", Workers: 2, InFlightPerWorker: 64, Busy: time.Second, Queued: 1279 * time.Second},
			{Name: "map+batch", Workers: 2, InFlightPerWorker: 64, Busy: 18 * time.Second,
				Starved: 200 * time.Second, Queued: 1062 * time.Second},
		}}}
	if got := stats.Limits(s); got != "map+batch" {
		t.Errorf("%q limits: %s", got, stats.Verdict(s))
	}
}

func TestTexts(t *testing.T) {
	for name, s := range cases() {
		compareText(t, name, stats.Text(s))
	}
}

// compareText holds a text against that in testdata.
func compareText(t *testing.T, name, text string) {
	t.Helper()
	file := filepath.Join("testdata", name+".txt")
	got := text + "\n"
	if *rewrite {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got, "\n")); diff != "" {
		t.Errorf("%s (go test -rewrite, then read the diff):\n%s", file, diff)
	}
}

func TestAnyNumbersGiveShortLines(t *testing.T) {
	duration := rapid.Map(rapid.Int64Range(0, 1<<55), func(n int64) time.Duration { return time.Duration(n) })
	number := rapid.Int64Range(0, 1<<50)
	name := rapid.StringMatching(`[a-z]{1,20}(\+[a-z_]{1,40}){0,6}`)
	rapid.Check(t, func(t *rapid.T) {
		s := stats.Snapshot{Stats: pipe.Stats{Elapsed: duration.Draw(t, "elapsed"), Waited: duration.Draw(t, "waited"),
			Yielded: number.Draw(t, "yielded")}}
		for range rapid.IntRange(0, 4).Draw(t, "stages") {
			n := name.Draw(t, "name")
			s.Stages = append(s.Stages, pipe.StageStats{
				Name: n, Workers: rapid.IntRange(1, 999).Draw(t, "workers"), In: number.Draw(t, "in"),
				Out: number.Draw(t, "out"), Lost: number.Draw(t, "lost"),
				Starved: duration.Draw(t, "starved"), Busy: duration.Draw(t, "busy"),
				Blocked: duration.Draw(t, "blocked"), Gated: duration.Draw(t, "gated"),
				Replaced: number.Draw(t, "replaced"), Retried: number.Draw(t, "retried"),
				P50: duration.Draw(t, "p50"), P99: duration.Draw(t, "p99"), Sampled: rapid.Bool().Draw(t, "sampled"),
			})
			amount := func(name string) *int64 { return rapid.Ptr(number, true).Draw(t, name) }
			s.Resources.Processes = append(s.Resources.Processes, stats.Process{
				Name: n, User: duration.Draw(t, "user"), Resident: amount("resident"), Shared: amount("shared"), Peak: amount("peak"),
				Read: amount("read"), ReadDisk: amount("disk"), Written: amount("written"),
			})
			s.Resources.Elapsed, s.Resources.Network = duration.Draw(t, "since"), &stats.Network{Received: number.Draw(t, "received")}
			s.Queues = append(s.Queues, pipe.QueueStats{From: n, Cap: 1000, Mean: 999.99,
				Empty: duration.Draw(t, "empty"), Full: 1, Observed: duration.Draw(t, "observed")})
		}
		text := stats.Text(s)
		for line := range strings.SplitSeq(text, "\n") {
			if n := utf8.RuneCountInString(line); n > 100 {
				t.Fatalf("a line of %d characters:\n%s", n, text)
			}
			if strings.TrimRight(line, " ") != line {
				t.Fatalf("blanks at the end of a line:\n%q", line)
			}
		}
	})
}

// A client reads numbers under these names.
func TestReportJSON(t *testing.T) {
	text, err := json.Marshal(stats.Report(training()))
	if err != nil {
		t.Fatal(err)
	}
	var back map[string]any
	if err := json.Unmarshal(text, &back); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"elapsed_ns", "waited_ns", "yielded", "stages", "queues", "memory", "decoder", "resources", "verdict", "limits", "text"} {
		if _, ok := back[key]; !ok {
			t.Errorf("the key %q is missing", key)
		}
	}
	if back["text"] != stats.Text(training()) {
		t.Errorf("text is %v", back["text"])
	}
	stage := back["stages"].([]any)[1].(map[string]any)
	if stage["name"] != "read" || stage["out"] != 4007.0 || stage["busy_ns"] != 9e9 {
		t.Errorf("a stage is %v", stage)
	}
	if m := back["memory"].(map[string]any); m["limit"] != float64(512<<20) {
		t.Errorf("memory is %v", m)
	}
}

func TestReportOfNothingHasLists(t *testing.T) {
	text, err := json.Marshal(stats.Report(stats.Snapshot{}))
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(text), "null") {
		t.Errorf("a client would have to expect null: %s", text)
	}
}

// Shares of the sources of a mix are beside those asked for, also in an interval.
func TestMixesAreToldWithWhatWasAsked(t *testing.T) {
	mixed := func(given ...int64) stats.Mix {
		m := stats.Mix{Step: "mix"}
		for i, n := range given {
			m.Sources = append(m.Sources, stats.Mixed{Name: string(rune('a' + i)), Asked: 1 / float64(len(given)), Given: n})
		}
		return m
	}
	s := training()
	s.Mixes = []stats.Mix{mixed(30, 10)}
	if text := stats.Text(s); !strings.Contains(text, "mix: a 75.0 % (asked 50.0), b 25.0 % (asked 50.0)\n") {
		t.Errorf("%s", text)
	}
	earlier := training()
	earlier.Mixes = []stats.Mix{mixed(20, 5)}
	if d, err := s.Since(earlier); err != nil || d.Mixes[0].Sources[0].Given != 10 || s.Mixes[0].Sources[0].Given != 30 {
		t.Errorf("%+v, %v", d.Mixes, err)
	}
	s.Mixes = []stats.Mix{mixed(0, 0), mixed(1, 1, 1, 1, 1, 1, 1, 1, 1, 1)}
	if text := stats.Text(s); !strings.Contains(text, "2 more") || strings.Contains(text, "50.0") {
		t.Errorf("%s", text)
	}
}
