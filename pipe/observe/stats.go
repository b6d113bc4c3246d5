package observe

import (
	"encoding/json"
	"time"
)

// Stats are a run's numbers: always on, and never going down. Tags describe them, for
// package counters.
type Stats struct {
	Elapsed time.Duration `json:"elapsed_ns" counter:"ns" doc:"time since the start, until the end"`
	Start   time.Duration `json:"start_ns" counter:"ns" doc:"time in which the loop waited for its first item"`
	// The loop begins with its first item, and has breaks: from the end of an epoch, or a
	// break out of All, until Next is called again.
	Loop    time.Duration `json:"loop_ns" counter:"ns" doc:"time that the loop has run since its first item"`
	Waited  time.Duration `json:"waited_ns" counter:"ns" doc:"time of the loop in which it waited for the next item"`
	Yielded int64         `json:"yielded" counter:"items" doc:"items that the loop was given"`
	Stages  []StageStats  `json:"stages" doc:"the stages, from the source on"`
	Queues  []QueueStats  `json:"queues" doc:"the queue after each stage"`
}

// StageStats are the numbers of a stage. The clocks are sums over its workers and tell
// where they spent their lives; time in an operation that still runs is missing. A stage
// that is starved waits for the stage before, a blocked one for the stage after, or in
// WaitBlocked, and a gated one for CPUs that other stages use: the bottleneck is
// the stage that is busy. Where workers are elsewhere the clocks are sums over all
// operations at once, InFlightPerWorker for each worker, which wait for it while they are
// queued; Shares tells what the workers did.
type StageStats struct {
	Name string `json:"name" doc:"the name"`
	Kind string `json:"kind" doc:"'source', 'map', 'flatmap', 'batch', 'merge', …"`
	// The other numbers are also of workers that have left.
	Workers int `json:"workers" gauge:"workers" doc:"workers, now or at the end"`

	In int64 `json:"in" counter:"items" doc:"items taken; by a source, made"`
	// Clocks run from then on: see FromFirst.
	Ahead   int64 `json:"ahead,omitempty" counter:"items" doc:"items taken before the consumer first asked"`
	Out     int64 `json:"out" counter:"items" doc:"items handed on"`
	Lost    int64 `json:"lost" counter:"items" doc:"items that failed, as far as the consumer has come"`
	Skipped int64 `json:"skipped" counter:"items" doc:"items dropped on purpose"`
	Bytes   int64 `json:"bytes" counter:"bytes" doc:"bytes that operations have reported, with AddBytes"`
	Moved   int64 `json:"moved" counter:"rows" doc:"rows of batches that were moved to close holes"`

	Retried  int64 `json:"retried" counter:"calls" doc:"operations that were tries after the first"`
	Replaced int64 `json:"replaced" counter:"items" doc:"items that failed and were replaced"`

	Abandoned int64 `json:"abandoned" counter:"calls" doc:"operations that did not return when their time was over"`

	Starved time.Duration `json:"starved_ns" counter:"ns" doc:"time of workers that waited for the stage before"`
	Busy    time.Duration `json:"busy_ns" counter:"ns" doc:"time of workers in operations"`
	Blocked time.Duration `json:"blocked_ns" counter:"ns" doc:"time of workers that waited for the stage after, or for memory"`
	Gated   time.Duration `json:"gated_ns" counter:"ns" doc:"time of workers that waited for a CPU"`
	Queued  time.Duration `json:"queued_ns,omitempty" counter:"ns" doc:"time of operations that waited for a worker elsewhere"`
	Turn    time.Duration `json:"turn_ns,omitempty" counter:"ns" doc:"time of operations that waited for earlier ones to begin"`

	InFlightPerWorker int `json:"hands,omitempty" gauge:"items" doc:"items in hand for each worker, if these are elsewhere"`

	// It counts once for all operations, unlike the other clocks.
	Over time.Duration `json:"over_ns,omitempty" counter:"ns" doc:"time with nothing left to do, while other stages had"`

	Awaited time.Duration `json:"awaited_ns,omitempty" gauge:"ns" doc:"by a source: time since its last item, if all else waits"`

	Mean    time.Duration `json:"mean_ns" gauge:"ns" doc:"time that an item keeps a worker busy, on average"`
	P50     time.Duration `json:"p50_ns" gauge:"ns" doc:"time within which half of the operations end"`
	P90     time.Duration `json:"p90_ns" gauge:"ns" doc:"time within which 90 % of the operations end"`
	P99     time.Duration `json:"p99_ns" gauge:"ns" doc:"time within which 99 % of the operations end"`
	Sampled bool          `json:"sampled" doc:"whether only some operations were timed, because they are fast"`
	Times   []Bucket      `json:"times,omitempty" doc:"the times of operations, which the percentiles are made of"`
}

// QueueStats are the numbers of the queue between two stages. Messages about items that
// were dropped or lost travel in it too, and the boundaries of epochs.
type QueueStats struct {
	From string `json:"from" doc:"the stage before"`
	To   string `json:"to" doc:"the stage after; empty: the consumer"`

	Cap  int   `json:"cap" gauge:"messages" doc:"messages that it has room for"`
	Len  int   `json:"len" gauge:"messages" doc:"messages in it"`
	Puts int64 `json:"puts" counter:"messages" doc:"messages put in"`
	Gets int64 `json:"gets" counter:"messages" doc:"messages taken out"`

	Mean     float64       `json:"mean" gauge:"messages" doc:"messages in it, on average over time"`
	Empty    time.Duration `json:"empty_ns" counter:"ns" doc:"time in which the next stage would have had to wait"`
	Full     time.Duration `json:"full_ns" counter:"ns" doc:"time in which it was full"`
	Observed time.Duration `json:"observed_ns" counter:"ns" doc:"time that 'mean', 'empty_ns' and 'full_ns' are about"`

	PutWait time.Duration `json:"put_wait_ns" counter:"ns" doc:"time of workers that waited for room, together"`
	GetWait time.Duration `json:"get_wait_ns" counter:"ns" doc:"time of workers, or of the consumer, that waited for a message"`
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
