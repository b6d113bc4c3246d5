package headrace

import (
	"fmt"
	"io"

	"github.com/headrace/headrace/internal/batch"
	"github.com/headrace/headrace/internal/resume"
	"github.com/headrace/headrace/internal/source"
	"github.com/headrace/headrace/pipe"
)

// epoch is the one that [Loader.Next] is in. Next's goroutine has it.
type epoch struct {
	count        EpochSummary // so far
	ended        EpochSummary // of the epoch that ended last
	replacements resume.Replacements
	serial       serial
	failure      error // why Next gives no more; nil: the run knows
}

// EpochSummary counts the batches and samples of an epoch. Samples that were finished
// under another world size are not in it.
type EpochSummary struct {
	Epoch    int
	Batches  int64
	Samples  int64 // yielded, several in a row where they are packed
	Lost     int64 // samples that failed and were dropped
	Replaced int64 // of those yielded, samples that came instead of others that failed
	Wrapped  int64
	Last     bool
}

// countFrom is the count of an epoch that is gone on with: what it had yielded and lost
// before belongs to it.
func (l *Loader) countFrom(from State) EpochSummary {
	return EpochSummary{Epoch: from.Epoch, Batches: from.Batches, Samples: from.Yielded(),
		Lost: from.LostSamples(), Replaced: from.Replaced, Wrapped: l.wrapped(from.Epoch)}
}

// wrapped returns the number of samples of the epoch that come from its start again.
func (l *Loader) wrapped(epoch int) (n int64) {
	l.keyed(func(_ string, s *source.Listing) { n += s.Share(epoch).Wrapped() })
	return n
}

func (l *Loader) endEpoch() {
	l.ended = l.count
	l.count = EpochSummary{Epoch: l.ended.Epoch + 1, Wrapped: l.wrapped(l.ended.Epoch + 1)}
	l.replacements.Begin(State{})
	l.ended.Last = l.config.epochsFrom(l.count.Epoch) == 0
}

// Epoch tells what became of the epoch that ended last.
func (l *Loader) Epoch() EpochSummary { return l.ended }

// full tells whether the epoch that Next is in has had all batches that it is to have.
func (l *Loader) full() bool {
	return l.config.StepsPerEpoch != nil && l.count.Batches >= l.extent.Steps
}

// cut ends an epoch that is full. What is left of it is dropped, with what was made
// ahead, and the next one begins.
func (l *Loader) cut() error {
	l.endEpoch()
	until := l.serial.until
	l.Stop()
	if err := l.Start(State{Epoch: l.count.Epoch, Quarantine: l.work.Quarantine}, until); err != nil {
		return err
	}
	return io.EOF
}

// short ends the run, since other ranks have batches that this one has not.
func (l *Loader) short() error {
	each := ""
	if n := l.accumulate(); n > 1 {
		each = fmt.Sprintf(", of %d batches each", n)
	}
	l.failure = fmt.Errorf("%w: rank %d has %d batches in epoch %d, and steps_per_epoch is %d%s: "+
		"use a smaller steps_per_epoch, or lose and drop fewer samples",
		ErrShort, l.config.Rank, l.count.Batches, l.count.Epoch, *l.config.StepsPerEpoch, each)
	l.Stop()
	return l.failure
}

// before is the state, where it may have to be gone back to.
func (l *Loader) before() (s State) {
	if l.slots.Notes {
		s = l.State()
	}
	return s
}

// tellReplaced tells of the samples in whose places others came into a batch. One too
// many ends the run before the batch.
func (l *Loader) tellReplaced(b *batch.Batch, before State) error {
	all := b.Replaced()
	for _, lost := range all {
		if over, limit := l.replacements.Spend(lost.Stage); over {
			b.Release()
			return l.overspent(lost, limit, before)
		}
	}
	for _, lost := range all {
		l.count.Replaced++
		l.tell(*lost)
	}
	return nil
}

// overspent ends the run at a state.
func (l *Loader) overspent(last *Lost, limit int, at State) error {
	l.Stop()
	l.replacements.Begin(at)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.place = at
	failed := &pipe.StageError{Stage: last.Stage, Source: last.ID.Source, Epoch: last.ID.Epoch, Pos: last.ID.Pos, Err: last.Err}
	l.failure = fmt.Errorf("%w: %w (%d samples of this epoch were replaced; max_errors allows no more)", ErrTooManyLost, failed, limit)
	return l.failure
}
