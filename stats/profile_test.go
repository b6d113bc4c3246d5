package stats_test

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/headrace/headrace/pipe"
	"github.com/headrace/headrace/stats"

	"pgregory.net/rapid"
)

// profiles are reports by the names of the files with their texts.
func profiles() map[string]pipe.Report {
	return map[string]pipe.Report{
		"profile": {Items: 512, Stages: []pipe.StageProfile{
			{Name: "files", Kind: "source", Trials: []pipe.Trial{{Workers: 1, In: 512, Out: 512,
				Took: time.Millisecond, Rate: 512000, Source: 512000}}},
			{Name: "read", Kind: "map", Trials: []pipe.Trial{
				{Workers: 1, In: 256, Out: 256, Rate: 12345, Source: 12345, Mean: 81 * time.Microsecond,
					P50: 70 * time.Microsecond, P99: 200 * time.Microsecond},
				{Workers: 2, In: 256, Out: 256, Rate: 23456, Source: 23456, Mean: 9 * time.Microsecond,
					P50: 8 * time.Microsecond, P99: 20 * time.Microsecond, Sampled: true},
			}},
			{Name: fused, Kind: "fill", Trials: []pipe.Trial{
				{Workers: 1, In: 256, Out: 8, Rate: 1423.4, Source: 1423.4, Mean: 702 * time.Microsecond,
					P50: 650 * time.Microsecond, P99: 2 * time.Millisecond},
				{Workers: 2, In: 256, Out: 8, Rate: 2810, Source: 2810, Mean: 711 * time.Microsecond,
					P50: 660 * time.Microsecond, P99: 2 * time.Millisecond},
			}},
		}},
		"profile_one": {Items: 3, Stages: []pipe.StageProfile{{Name: "files", Kind: "source",
			Trials: []pipe.Trial{{Workers: 1, In: 3, Out: 3, Took: 1, Rate: 3e9, Source: 3e9}}}}},
		"profile_nothing": {Stages: []pipe.StageProfile{{Name: "files", Kind: "source", Trials: []pipe.Trial{{Workers: 1}}}}},
	}
}

func TestProfileTexts(t *testing.T) {
	for name, r := range profiles() {
		compareText(t, name, stats.ProfileText(r))
	}
}

func TestAnyProfileGivesShortLines(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		var r pipe.Report
		rate := rapid.Float64Range(0, 1e15)
		took := rapid.Map(rapid.Int64Range(0, 1<<55), func(n int64) time.Duration { return time.Duration(n) })
		for range rapid.IntRange(0, 4).Draw(rt, "stages") {
			s := pipe.StageProfile{Name: rapid.StringMatching(`[a-z]{1,20}(\+[a-z_]{1,40}){0,6}`).Draw(rt, "name")}
			for range rapid.IntRange(1, 4).Draw(rt, "trials") {
				s.Trials = append(s.Trials, pipe.Trial{
					Workers: rapid.IntRange(1, 999).Draw(rt, "workers"), Rate: rate.Draw(rt, "rate"), Source: rate.Draw(rt, "source"),
					Mean: took.Draw(rt, "mean"), P50: took.Draw(rt, "p50"), P99: took.Draw(rt, "p99"),
					Sampled: rapid.Bool().Draw(rt, "sampled"),
				})
			}
			r.Stages = append(r.Stages, s)
		}
		text := stats.ProfileText(r)
		for line := range strings.SplitSeq(text, "\n") {
			if n := utf8.RuneCountInString(line); n > 100 {
				rt.Fatalf("a line of %d characters:\n%s", n, text)
			}
		}
	})
}
