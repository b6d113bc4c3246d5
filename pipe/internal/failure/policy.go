package failure

import (
	"errors"
	"fmt"

	"github.com/headrace/headrace/pipe/internal/progress"
)

// A Policy says what a failed item means. The zero Policy stops the run at the first
// failure. With Skip, failed items are lost as long as their number in this epoch is
// within Count, or their share within Rate; the first that is beyond both stops the run.
//
// What the machine lacks is no item's failure, and stops the run whatever the policy:
// descriptors (EMFILE, ENFILE), memory (ENOMEM, ENOBUFS), space (ENOSPC, EDQUOT),
// processes (EAGAIN of starting one). [Retry] tries again, for these pass.
type Policy struct {
	Skip  bool
	Count int     // losses tolerated per epoch; NoLimit, or any negative number: all
	Rate  float64 // share of an epoch's items so far that may be lost, in (0, 1]; 0: no share is tolerated, only Count
	After int     // Rate is judged from this many items on; until then it tolerates everything
}

// NoLimit is the Count of a [Policy] that tolerates any number of losses, and the Epochs
// of a [Config] without end.
const NoLimit = -1

// String says what the policy tolerates.
func (p Policy) String() string {
	switch {
	case !p.Skip:
		return "stops at a failure"
	case p.Count < 0:
		return "skips failures"
	case p.Rate == 0:
		return fmt.Sprintf("skips %d failures", p.Count)
	case p.Count == 0:
		return fmt.Sprintf("skips a share of %g", p.Rate)
	}
	return fmt.Sprintf("skips %d failures or a share of %g", p.Count, p.Rate)
}

// CheckPolicy returns what is wrong with a policy.
func CheckPolicy(p Policy) []error {
	var all []error
	if !(p.Rate >= 0 && p.Rate <= 1) {
		all = append(all, fmt.Errorf("a Rate of %v is not a share between 0 and 1", p.Rate))
	}
	if p.After < 0 {
		all = append(all, fmt.Errorf("an After of %d", p.After))
	}
	if p.Skip && p.Count == 0 && p.Rate == 0 {
		all = append(all, errors.New("with Skip, but without Count and Rate, it tolerates nothing: Count: NoLimit tolerates any number"))
	}
	if !p.Skip && (p.Count != 0 || p.Rate != 0 || p.After != 0) {
		all = append(all, errors.New("without Skip, it has no use for Count, Rate and After"))
	}
	return all
}

// A Counter holds one epoch's losses against a policy.
type Counter struct {
	Policy Policy
	Seen   int64
	Lost   int64
	Last   progress.Lineage // what was lost last, and why
	why    *Failure
}

// Pass counts items that went well. It reports whether the losses so far are tolerated: a
// share may be judged at an item that did not fail, the one that completes After.
func (t *Counter) Pass(n int64) bool {
	before := t.Seen
	t.Seen += n
	if after := int64(t.Policy.After); before >= after || t.Seen < after {
		return true
	}
	return t.why == nil || t.tolerated()
}

// Lose counts failed items, of those seen now. It reports whether they are tolerated.
func (t *Counter) Lose(lost, seen int64, what progress.Lineage, why *Failure) bool {
	t.Seen += seen
	t.Lost += lost
	t.Last, t.why = what, why
	return t.tolerated()
}

func (t *Counter) tolerated() bool {
	p := t.Policy
	if p.Count < 0 || t.Lost <= int64(p.Count) {
		return true
	}
	if p.Rate == 0 {
		return false
	}
	return t.Seen < int64(p.After) || float64(t.Lost) <= p.Rate*float64(t.Seen)
}

// Exceeded blames the last loss for exceeding the policy.
func (t *Counter) Exceeded() *Failure {
	err := &LossError{Policy: t.Policy, Lost: t.Lost, Seen: t.Seen, Err: t.why.Err}
	return &Failure{From: t.why.From, Err: err, Counted: true}
}

// A LossError is the failure of an item that was one more than a policy tolerates. It
// is inside of the [StageError].
type LossError struct {
	Policy Policy
	Lost   int64 // items of the epoch
	Seen   int64 // items of the epoch, the lost ones included
	Err    error // of the item
}

func (e *LossError) Error() string {
	tolerated := fmt.Sprintf("%d", e.Policy.Count)
	switch p := e.Policy; {
	case p.Rate > 0 && p.Count > 0:
		tolerated = fmt.Sprintf("%d or a share of %g", p.Count, p.Rate)
	case p.Rate > 0:
		tolerated = fmt.Sprintf("a share of %g", p.Rate)
	}
	return fmt.Sprintf("%v (lost %d of %d items of this epoch; the policy tolerates %s)", e.Err, e.Lost, e.Seen, tolerated)
}

func (e *LossError) Unwrap() error { return e.Err }

// Resume counts what the tracker already hold. It reports whether that is tolerated: a
// state can be saved between the item at which a share is judged and the failure.
func (t *Counter) Resume(b *progress.Tracker, sources []*Origin) bool {
	for i := range sources {
		finished, lost, last := b.Resumed(i)
		t.Seen += finished
		t.Lost += lost
		if lost > 0 {
			t.Last = progress.Single(last)
			t.why = sources[i].NewFailure(ErrLostBefore)
		}
	}
	return t.Lost == 0 || !t.Policy.Skip || t.tolerated()
}

// Reset begins to count the next epoch.
func (t *Counter) Reset() { *t = Counter{Policy: t.Policy} }
