package observe

import (
	"encoding/json"
	"time"
)

// Stats are a run's numbers: always on, and never going down.
type Stats struct {
	Elapsed time.Duration `json:"elapsed_ns"` // since Start, until Close
	Start   time.Duration `json:"start_ns"`   // of it the consumer waited in Next for its first item: no stage had anything yet
	Loop    time.Duration `json:"loop_ns"`    // of it the consumer was in its loop: since its first item, but for the time between the end of an epoch, or a break out of All, and the next call of Next
	Waited  time.Duration `json:"waited_ns"`  // of its loop it waited in Next
	Yielded int64         `json:"yielded"`    // items that Next returned
	Stages  []StageStats  `json:"stages"`     // from the source on
	Queues  []QueueStats  `json:"queues"`     // the queue after each stage
}

// StageStats are the numbers of a stage. The clocks are sums over its workers and tell
// where they spent their lives; time in an operation that still runs is missing. A stage
// that is starved waits for the stage before, a blocked one for the stage after, or in
// WaitBlocked, and a gated one for CPUs that other stages use: the bottleneck is
// the stage that is busy. Where workers are elsewhere the clocks are sums over all
// operations at once, InFlightPerWorker for each worker, which wait for it while they are
// queued; Shares tells what the workers did.
type StageStats struct {
	Name    string `json:"name"`
	Kind    string `json:"kind"`    // source, map, flatmap, batch, merge, …
	Workers int    `json:"workers"` // now, or at the end; the numbers below are also of workers that have left

	In      int64 `json:"in"`              // items taken; of a source, made
	Ahead   int64 `json:"ahead,omitempty"` // of these, before the consumer came; clocks run from then on: see FromFirst
	Out     int64 `json:"out"`             // items handed on
	Lost    int64 `json:"lost"`            // items that failed, as far as the consumer has come
	Skipped int64 `json:"skipped"`         // items dropped on purpose
	Bytes   int64 `json:"bytes"`           // what operations reported with AddBytes
	Moved   int64 `json:"moved"`           // of a fill: rows that were moved to close holes

	Retried  int64 `json:"retried"`  // calls of operations that were tries after the first, with Retry
	Replaced int64 `json:"replaced"` // items that failed and were made by Replace

	Abandoned int64 `json:"abandoned"` // operations that did not return when their Limit was over

	Starved           time.Duration `json:"starved_ns"`
	Busy              time.Duration `json:"busy_ns"`
	Blocked           time.Duration `json:"blocked_ns"`
	Gated             time.Duration `json:"gated_ns"`
	Queued            time.Duration `json:"queued_ns,omitempty"`
	Turn              time.Duration `json:"turn_ns,omitempty"` // operations of a FlatMap waited for those before them to begin
	InFlightPerWorker int           `json:"hands,omitempty"`   // where workers are elsewhere

	Over time.Duration `json:"over_ns,omitempty"` // there was nothing left to do, while other stages had; for all operations at once

	Mean    time.Duration `json:"mean_ns"` // of the time that an item keeps a worker busy
	P50     time.Duration `json:"p50_ns"`  // of the time that an operation takes
	P90     time.Duration `json:"p90_ns"`
	P99     time.Duration `json:"p99_ns"`
	Sampled bool          `json:"sampled"`         // only some operations were timed, because they are fast
	Times   []Bucket      `json:"times,omitempty"` // what the percentiles are made of
}

// QueueStats are the numbers of the queue between two stages. Messages about items that
// were dropped or lost travel in it too, and the boundaries of epochs.
type QueueStats struct {
	From string `json:"from"`
	To   string `json:"to"` // empty: the consumer

	Cap  int   `json:"cap"`
	Len  int   `json:"len"`
	Puts int64 `json:"puts"`
	Gets int64 `json:"gets"`

	Mean     float64       `json:"mean"`        // messages in it, over time
	Empty    time.Duration `json:"empty_ns"`    // time in which the next stage would have had to wait
	Full     time.Duration `json:"full_ns"`     // time in which Cap messages were ready
	Observed time.Duration `json:"observed_ns"` // the time that Mean, Empty and Full are about

	PutWait time.Duration `json:"put_wait_ns"` // time that workers waited for room, together
	GetWait time.Duration `json:"get_wait_ns"` // time that the next stage's workers, or the consumer, waited for a message, together
}

// WithTimes returns the numbers with the times that operations took, and what follows
// from these.
func (t StageStats) WithTimes(times []Bucket) StageStats {
	t.Times = times
	t.percentiles()
	return t
}

func (t *StageStats) percentiles() {
	t.Mean = 0
	if n := t.In - t.Ahead; n > 0 {
		t.Mean = t.Busy / time.Duration(n)
	}
	t.P50, t.P90, t.P99 = Quantile(t.Times, 0.50), Quantile(t.Times, 0.90), Quantile(t.Times, 0.99)
}

// Shares are the parts of the time that the workers of a stage spent on each thing. They
// add up to 1, or are 0 where no time has passed.
type Shares struct {
	Starved float64 `json:"starved"`
	Busy    float64 `json:"busy"`
	Blocked float64 `json:"blocked"`
	Gated   float64 `json:"gated"`
}

// Shares returns what the workers did. A stage with nothing left to do counts as starved.
// Workers elsewhere that are not busy do what their operations do: where these are
// queued, they are on their way from one to the next, which is no time that another stage
// could fill; those that wait for their turn say nothing.
func (t StageStats) Shares() Shares {
	waits := t.Starved + t.Blocked + t.Gated + t.Queued + t.Over
	busy, ok := t.worked(waits)
	if !ok {
		return Shares{}
	}
	rest := func(d time.Duration) float64 {
		if waits == 0 {
			return 0
		}
		return (1 - busy) * float64(d) / float64(waits)
	}
	return Shares{rest(t.Starved + t.Over), busy + rest(t.Queued), rest(t.Blocked), rest(t.Gated)}
}

// Worked is the share of their time in which the stage's workers really worked. Where
// they are elsewhere, [Shares] counts as busy, too, that items wait for one of them;
// but other stages may have the same workers.
func (t StageStats) Worked() float64 {
	share, _ := t.worked(t.Starved + t.Blocked + t.Gated + t.Queued + t.Over)
	return share
}

func (t StageStats) worked(waits time.Duration) (share float64, ok bool) {
	life := (t.Busy + waits + t.Turn) / time.Duration(max(1, t.InFlightPerWorker))
	if life <= 0 {
		return 0, false
	}
	return min(1, float64(t.Busy)/float64(life)), true
}

// MarshalJSON adds shares to the fields.
func (t StageStats) MarshalJSON() ([]byte, error) {
	type fields StageStats
	return json.Marshal(struct {
		fields
		Shares Shares `json:"shares"`
	}{fields(t), t.Shares()})
}
