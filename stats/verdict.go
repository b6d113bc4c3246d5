package stats

import (
	"fmt"
	"strings"
	"time"

	"headrace/pipe"
)

const (
	// Below this share of the time, waiting of the consumer is the small change of handing over.
	waits = 0.10
	// A stage that is at work for this share of the time hands on what it is given as fast as it can.
	saturated = 0.50
)

// Verdict returns the sentence that says what limits.
func Verdict(s pipe.Stats) string {
	if len(s.Stages) == 0 || s.Elapsed == 0 {
		return "Nothing has run yet."
	}
	if s.Yielded == 0 {
		return "Nothing has come out yet."
	}
	if w := share(s.Waited, s.Elapsed); w < waits {
		return fmt.Sprintf("The consumer limits: it had to wait for %s of the time.", percent(w))
	}
	t, work := busiest(s.Stages)
	t.Name = ShortName(t.Name)
	switch gated := t.Shares().Gated; {
	case work < saturated:
		return fmt.Sprintf("No stage limits clearly: the busiest is %s, at work for %s of the time.", t.Name, percent(work))
	case gated > waits:
		return fmt.Sprintf("The processors limit: the stage %s has work for %s of the time, and waits for a processor for %s.", t.Name, percent(work), percent(gated))
	case t.Workers == 1:
		return fmt.Sprintf("The stage %s limits: its worker is busy for %s of the time.", t.Name, percent(work))
	default:
		return fmt.Sprintf("The stage %s limits: its %d workers are busy for %s of the time.", t.Name, t.Workers, percent(work))
	}
}

// Limits returns the name of the stage that limits; empty where the consumer does, or no stage does clearly.
func Limits(s pipe.Stats) string {
	if len(s.Stages) == 0 || s.Elapsed == 0 || s.Yielded == 0 || share(s.Waited, s.Elapsed) < waits {
		return ""
	}
	if t, work := busiest(s.Stages); work >= saturated {
		return t.Name
	}
	return ""
}

// busiest returns the stage that has work for the greatest share of its time, be it that it waits for a processor meanwhile.
func busiest(stages []pipe.StageStats) (most pipe.StageStats, work float64) {
	work = -1
	for _, t := range stages {
		if s := t.Shares(); s.Busy+s.Gated > work {
			most, work = t, s.Busy+s.Gated
		}
	}
	return most, work
}

func share(part, whole time.Duration) float64 {
	if whole <= 0 {
		return 0
	}
	return float64(part) / float64(whole)
}

// ShortName fits a stage's name into a sentence: "decode_image+…+batch".
func ShortName(name string) string {
	parts := strings.Split(name, "+")
	if len(parts) > 2 {
		name = parts[0] + "+…+" + parts[len(parts)-1]
	}
	if r := []rune(name); len(r) > 40 {
		name = string(r[:39]) + "…"
	}
	return name
}
