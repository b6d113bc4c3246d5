package headrace

import (
	"context"
	"errors"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"

	"headrace/budget"
	"headrace/internal/record"
	"headrace/media"
	"headrace/order"
	"headrace/pipe"
	"headrace/sample"
)

// work is what the stages of a loader share.
type work struct {
	layout        *layout
	lane          *budget.Lane // of samples whose batch is on its way, where they are grouped
	seed          uint64
	ranks         bool // others run the same recipe, and have to yield as many batches
	record.Memory      // of samples
	ledger        bool // of what steps drew for each sample

	epoch      int     // the run's first
	quarantine []int64 // sorted numbers of samples that are not tried
	inFlight   InFlight
	tools      sync.Pool // of *tool

	reads atomic.Int64 // samples that were read

	gate *pipe.Gate // of what computes
	host *host      // of Python's functions; nil: the recipe has none
}

// part is a part of a recipe that runs as one stage.
type part interface {
	// run works on a sample. What it makes is stored in the sample's values.
	run(ctx context.Context, it *record.Record, t *tool) error
	// foresee returns how many bytes run will need besides the pictures that are stored before it. It is told their forms in t, and puts there
	// what will be stored after it; the zero Form where that is not known.
	foresee(it *record.Record, t *tool) int64
}

// tool is what one operation needs besides its sample; it is used again by the next.
type tool struct {
	plan   media.Plan
	chance order.Key
	forms  []media.Form // of the pictures that a sample will have
}

// The purposes for which bytes are reserved.
const (
	forFiles   budget.Purpose = "files"
	forDecoder budget.Purpose = "decoder"
	forBatches budget.Purpose = "batches"
)

var errQuarantined = errors.New("headrace: quarantined: this sample crashed the engine")

// begin prepares for a run.
func (w *work) begin(from State, inFlight func() InFlight) {
	w.epoch = from.Epoch
	w.quarantine = slices.Compact(slices.Sorted(slices.Values(from.Quarantine)))
	w.inFlight = nil
	if inFlight != nil {
		w.inFlight = inFlight()
	}
}

// read makes the operation that fetches a sample, and reserves what the first stages will take: here, outside the gate, since both may have to wait.
func (w *work) read(from *listing) doing {
	return func(ctx context.Context, it *record.Record) error {
		if w.quarantined(it.Source, it.ID.Index) {
			return errQuarantined
		}
		n, err := from.contents.fetch(ctx, w, it)
		if err != nil {
			return err
		}
		pipe.AddBytes(ctx, n)
		return from.leg.reserve(ctx, it)
	}
}

func (w *work) quarantined(source *record.Source, index int64) bool {
	_, bad := slices.BinarySearch(w.quarantine, source.First+index)
	return bad
}

// carry carries out a part.
func (w *work) carry(p part) doing {
	return func(ctx context.Context, it *record.Record) error {
		t := w.tool(it)
		defer w.tools.Put(t)
		return p.run(ctx, it, t)
	}
}

// catch makes a panic an operation's error. The engine would do so too, but nothing would then name the sample, or let go of what it holds.
func catch(err *error) {
	if v := recover(); v != nil {
		*err = &pipe.PanicError{Value: v, Stack: debug.Stack()}
	}
}

// age orders the samples of a source for the budget, which always admits the oldest. Epochs count from the run's first: people use any number as
// an epoch, a date for one, and one that does not fit into the bits left here would make later samples the older ones.
func (w *work) age(id sample.ID) uint64 { return uint64(id.Epoch-w.epoch)<<40 | uint64(id.Pos) }

// tool returns one with the sample's random draws.
func (w *work) tool(it *record.Record) *tool {
	t, _ := w.tools.Get().(*tool)
	if t == nil {
		t = &tool{forms: make([]media.Form, w.Room.Images)}
	}
	t.chance = w.chance(it)
	return t
}

// chance gives the sample's random draws. Each of several samples that were made of one has its own.
func (w *work) chance(it *record.Record) order.Key {
	return w.chanceOf(it.Source, it.ID.Epoch, it.ID.Index, it.Made)
}

func (w *work) chanceOf(s *record.Source, epoch int, index int64, made []int64) order.Key {
	key := order.NewKey(w.seed, epoch, s.Draws, index)
	for _, n := range made {
		key = key.Output(n)
	}
	return key
}

// watched makes a call that may end in C code. Whoever looks after a crash finds the sample's name.
func (w *work) watched(ctx context.Context, it *record.Record, call func() error) error {
	if w.inFlight != nil {
		cell := pipe.Permit(ctx)
		w.inFlight.Begin(cell, it.Number(), it.Key)
		defer w.inFlight.End(cell)
	}
	return call()
}
