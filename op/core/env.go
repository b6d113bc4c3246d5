package core

import (
	"context"
	"errors"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/headrace/headrace/budget"
	"github.com/headrace/headrace/internal/record"
	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/order"
	"github.com/headrace/headrace/pipe"
	"github.com/headrace/headrace/sample"
	"github.com/headrace/headrace/stats"
)

// Env holds the settings and resources that all parts of a loader share.
type Env struct {
	Seed          uint64
	Ranks         bool // other ranks run the same recipe, and must yield as many batches
	record.Memory      // of all records
	Ledger        bool // note what steps drew for each sample

	Epoch      int     // the run's first
	Quarantine []int64 // sorted indices of samples that are not tried
	inFlight   InFlight
	tools      sync.Pool // of *tool

	Reads  atomic.Int64 // samples that were read
	Counts stats.Counts // for the statistics; added to with package sync/atomic

	Doubt func(message string) // told, once, of an index that is not believed

	Held map[string]string // by steps that hold files of their own: what these are

	Gate *pipe.Gate // of what computes
	Host PythonHost // of Python's functions; nil: the recipe has none
}

// InFlight learns which samples C code is working on. Cell is the number of the
// operation among those that run at once.
type InFlight interface {
	Begin(cell int, id sample.ID, key string)
	End(cell int)
}

// Part is a part of a recipe that runs as one stage.
type Part interface {
	// Run works on a record, and stores what it makes in the record's values.
	Run(ctx context.Context, it *record.Record, t *Tool) error
	// Foresee returns how many bytes Run will need besides the images that are stored
	// before it. t.Forms has the forms of these; Foresee changes it to what is stored
	// after Run, with the zero Form if that is not known.
	Foresee(it *record.Record, t *Tool) int64
}

// RowPart is a part whose result can go into the record's row of a batch.
type RowPart interface {
	Part
	// Into is Run with the result there, instead of in the record's values.
	Into(ctx context.Context, it *record.Record, t *Tool, row []byte) error
	// Result is where Run puts it.
	Result() record.Column
}

// Tool is an operation's memory besides its record. The next operation uses it again.
type Tool struct {
	Plan   media.Plan
	Chance order.Key
	Forms  []media.Form // of the images that the record will have, by column
	memory []int        // the number of the memory that each is in: copies have one
	last   int          // such number
}

// Put notes the form of an image that has memory of its own.
func (t *Tool) Put(at int, f media.Form) {
	t.last++
	t.Forms[at], t.memory[at] = f, t.last
}

// stored returns the memory of the images.
func (t *Tool) stored() (bytes int64) {
next:
	for i, f := range t.Forms {
		if f.Height <= 0 {
			continue
		}
		for k := range i {
			if t.memory[k] == t.memory[i] && t.Forms[k].Height > 0 {
				continue next
			}
		}
		bytes += record.StoredBytes(f)
	}
	return bytes
}

// The purposes for which bytes are reserved.
const (
	ForFiles   budget.Purpose = "files"
	ForDecoder budget.Purpose = "decoder"
	ForBatches budget.Purpose = "batches on their way"

	ForRecordings budget.Purpose = "recordings of steps"
)

// ErrQuarantined is why a sample is not tried: it has crashed an engine.
var ErrQuarantined = errors.New("headrace: quarantined: this sample crashed the engine")

// Begin prepares for a run.
func (w *Env) Begin(epoch int, quarantine []int64, inFlight func() InFlight) {
	w.Epoch = epoch
	w.Quarantine = slices.Compact(slices.Sorted(slices.Values(quarantine)))
	w.inFlight = nil
	if inFlight != nil {
		w.inFlight = inFlight()
	}
}

// Holds notes a digest of the files that a step lays over samples, so that a run does not
// go on with others.
func (w *Env) Holds(step, digest string) {
	if w.Held == nil {
		w.Held = map[string]string{}
	}
	w.Held[step] = digest
}

// Quarantined reports whether a sample is not to be tried.
func (w *Env) Quarantined(source *record.Source, index int64) bool {
	_, bad := slices.BinarySearch(w.Quarantine, source.First+index)
	return bad
}

// Carry returns the operation of a part.
func (w *Env) Carry(p Part) Op {
	return func(ctx context.Context, it *record.Record) error {
		t := w.Tool(it)
		defer w.Done(t)
		return p.Run(ctx, it, t)
	}
}

// Catch makes a panic an operation's error. The engine would do that as well, but then
// nothing would name the sample or give back what it holds.
func Catch(err *error) {
	if v := recover(); v != nil {
		*err = &pipe.PanicError{Value: v, Stack: debug.Stack()}
	}
}

// Age orders the samples of a source for the budget, which always admits the oldest.
// Epochs count from the run's first: people use any number as an epoch, a date for one,
// and one that does not fit into the bits left here would make later samples the older
// ones.
func (w *Env) Age(id sample.ID) uint64 { return uint64(id.Epoch-w.Epoch)<<40 | uint64(id.Pos) }

// Tool returns one with the sample's random draws.
func (w *Env) Tool(it *record.Record) *Tool {
	t, _ := w.tools.Get().(*Tool)
	if t == nil {
		t = &Tool{Forms: make([]media.Form, w.Room.Images), memory: make([]int, w.Room.Images)}
	}
	t.Chance = w.RandomKey(it)
	return t
}

// Done takes a tool back.
func (w *Env) Done(t *Tool) { w.tools.Put(t) }

// RandomKey returns the key of the sample's random draws. Each of several samples that
// were made of one has its own.
func (w *Env) RandomKey(it *record.Record) order.Key {
	return w.chanceOf(it.Source, it.ID.Epoch, it.ID.Index, it.Turn, it.Made)
}

func (w *Env) chanceOf(s *record.Source, epoch int, index, turn int64, made []int64) order.Key {
	key := order.NewKey(w.Seed, epoch, s.Draws, index)
	if turn > 0 { // what comes twice draws something else
		key = key.Output(turn)
	}
	for _, n := range made {
		key = key.Output(n)
	}
	return key
}

// Watched makes a call that may crash in C code. The sample's name is noted for anyone
// who looks after the crash.
func (w *Env) Watched(ctx context.Context, it *record.Record, call func() error) error {
	if w.inFlight != nil {
		cell := pipe.Permit(ctx)
		w.inFlight.Begin(cell, it.Number(), it.Key)
		defer w.inFlight.End(cell)
	}
	return call()
}
