package failure

import (
	"errors"
	"io"
	"testing"

	"pgregory.net/rapid"

	"github.com/headrace/headrace/pipe/internal/progress"
)

func TestPolicyStrings(t *testing.T) {
	for want, p := range map[string]Policy{
		"stops at a failure":                 {},
		"skips failures":                     {Skip: true, Count: -1},
		"skips 2 failures":                   {Skip: true, Count: 2},
		"skips a share of 0.5":               {Skip: true, Rate: 0.5},
		"skips 2 failures or a share of 0.5": {Skip: true, Count: 2, Rate: 0.5},
	} {
		if p.String() != want {
			t.Errorf("%+v is %q", p, p)
		}
	}
}

func TestPoliciesThatCannotBe(t *testing.T) {
	for want, p := range map[string]Policy{
		"a Rate of -0.1 is not a share between 0 and 1": {Skip: true, Rate: -0.1, Count: 1},
		"a Rate of 1.5 is not a share between 0 and 1":  {Skip: true, Rate: 1.5},
		"an After of -1": {Skip: true, Count: 1, After: -1},
		"with Skip, but without Count and Rate, it tolerates nothing: Count: NoLimit tolerates any number": {Skip: true},
		"without Skip, it has no use for Count, Rate and After":                                            {After: 3},
	} {
		if err := errors.Join(CheckPolicy(p)...); err == nil || err.Error() != want {
			t.Errorf("%+v: %v, not %s", p, err, want)
		}
	}
	for _, p := range []Policy{{}, {Skip: true, Count: NoLimit}, {Skip: true, Rate: 1, After: 9}} {
		if all := CheckPolicy(p); all != nil {
			t.Errorf("%+v: %v", p, all)
		}
	}
}

// A counter against the sentence of [Policy]: the losses so far are within Count, or from
// After items on within the share.
func TestCountersFollowThePolicy(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		p := Policy{
			Skip:  true,
			Count: rapid.IntRange(-1, 4).Draw(rt, "count"),
			Rate:  rapid.SampledFrom([]float64{0, 0.25, 0.5, 1}).Draw(rt, "rate"),
			After: rapid.IntRange(0, 8).Draw(rt, "after"),
		}
		c, from := Counter{Policy: p}, &Origin{Stage: "map", Key: "map"}
		seen, lost, judged := int64(0), int64(0), false
		for range rapid.IntRange(1, 20).Draw(rt, "items") {
			within := func() bool {
				byCount, byRate := p.Count < 0 || lost <= int64(p.Count), p.Rate > 0 &&
					(seen < int64(p.After) || float64(lost) <= p.Rate*float64(seen))
				return byCount || byRate
			}
			if rapid.Bool().Draw(rt, "lost") {
				seen, lost = seen+1, lost+1
				why := from.NewFailure(io.ErrUnexpectedEOF)
				ok := c.Lose(1, 1, progress.Single(seen), why)
				if ok != within() {
					rt.Fatalf("%+v: lost %d of %d: tolerated: %v", p, lost, seen, ok)
				}
				if judged = !ok; judged {
					break
				}
				continue
			}
			n := rapid.Int64Range(1, 5).Draw(rt, "passed")
			completes := seen < int64(p.After) && seen+n >= int64(p.After)
			seen += n
			// Nothing gets worse by items that pass, unless the share is judged first.
			if ok := c.Pass(n); ok != (!completes || lost == 0 || within()) {
				rt.Fatalf("%+v: %d passed, after %d lost of %d: tolerated: %v", p, n, lost, seen, ok)
			} else if judged = !ok; judged {
				break
			}
		}
		if judged {
			f := c.Exceeded()
			var e *LossError
			if !errors.As(f.Err, &e) || e.Lost != lost || e.Seen != seen || e.Policy != p ||
				!errors.Is(f.Err, io.ErrUnexpectedEOF) || f.From != from || f.CountedBy() != "map" {
				rt.Fatalf("%+v", f)
			}
		}
		if c.Reset(); c != (Counter{Policy: p}) {
			rt.Fatalf("the next epoch begins with %+v", c)
		}
	})
}

// A run goes on with what the state before has lost.
func TestCountersGoOnWithAState(t *testing.T) {
	const stage = "read"
	of := func(lost ...int64) *progress.Tracker {
		b := progress.NewTracker(progress.State{})
		b.AddSource(stage, progress.SourceState{Low: 10, Lost: lost})
		return b
	}
	sources := []*Origin{{Stage: stage}}
	for _, c := range []struct {
		policy Policy
		lost   []int64
		want   bool
	}{
		{Policy{}, nil, true},
		{Policy{}, []int64{3}, true}, // of a run with another policy
		{Policy{Skip: true, Count: 2}, []int64{3, 5}, true},
		{Policy{Skip: true, Count: 1}, []int64{3, 5}, false},
		{Policy{Skip: true, Rate: 0.2}, []int64{3, 5}, true},
		{Policy{Skip: true, Rate: 0.1}, []int64{3, 5}, false},
	} {
		n := Counter{Policy: c.policy}
		if got := n.Resume(of(c.lost...), sources); got != c.want || n.Seen != 10 || n.Lost != int64(len(c.lost)) {
			t.Errorf("%+v after %v: %v, %+v", c.policy, c.lost, got, n)
		}
		if at, ok := n.Last.First(); len(c.lost) > 0 && (!ok || at != c.lost[len(c.lost)-1] || !errors.Is(n.Exceeded().Err,
			ErrLostBefore)) {
			t.Errorf("%v: the last loss is %v", c.lost, at)
		}
	}
}

// A loss knows what it became a part of, and who counted it.
func TestPartsAreFailures(t *testing.T) {
	f := (&Origin{Stage: "map", Key: "map"}).NewFailure(io.EOF)
	if p := Part(progress.LostInput{Of: progress.Single(7), Why: f}); p.Failure != f || p.Lineage.Lo != 7 || f.CountedBy() != "" {
		t.Errorf("%+v", p)
	}
	if f.Counted = true; f.CountedBy() != "map" {
		t.Error("who has counted it is not known")
	}
}
