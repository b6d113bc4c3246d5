package headrace

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"sync"

	"headrace/budget"
	"headrace/internal/scratch"
	"headrace/media"
	"headrace/order"
	"headrace/pipe"
	"headrace/recipe/fuse"
	"headrace/sample"
	"headrace/store"
)

// work holds the operations of the stages.
type work struct {
	images   fuse.Images
	layout   *layout
	budget   *budget.Budget
	files    store.Local
	seed     uint64
	sourceID uint64
	fields   fieldPlaces
	between  func(*item) int64 // bytes of pictures between the stages of one operation, or between passes

	first      int     // the run's first epoch
	quarantine []int64 // sorted indices that are not tried
	inFlight   InFlight
	tools      sync.Pool    // of *tool
	buffers    sync.Pool    // of *[]byte: files
	pixels     scratch.Pool // pictures between passes
}

// fieldPlaces is where the values of an item go in a batch; negative: nowhere.
type fieldPlaces struct{ image, label, key int }

// tool is what one operation needs besides its sample; it is used again by the next.
type tool struct {
	plan   media.Plan
	chance order.Key
}

// file is a file's content in a buffer that is used again, what its header says, and its share of the byte budget.
type file struct {
	data    *[]byte // nil: not read
	info    media.Info
	bad     error        // what Probe said
	content budget.Grant // the bytes read
	working budget.Grant // what the decoder will need besides
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
	w.first = from.Epoch
	w.quarantine = slices.Compact(slices.Sorted(slices.Values(from.Quarantine)))
	w.inFlight = nil
	if inFlight != nil {
		w.inFlight = inFlight()
	}
}

// read fetches the file of a sample, and reserves what decoding it will take: here, outside the gate, since both may have to wait.
func (w *work) read(ctx context.Context, it *item) (_ *item, err error) {
	defer func() {
		if err != nil {
			w.drop(it)
			err = it.blame(err)
		}
	}()
	defer catch(&err)
	if _, bad := slices.BinarySearch(w.quarantine, it.id.Index); bad {
		return nil, errQuarantined
	}
	if err := w.fetch(ctx, it); err != nil {
		return nil, err
	}
	pipe.AddBytes(ctx, int64(len(*it.file.data)))
	return it, nil
}

// catch makes a panic an operation's error. The engine would do so too, but nothing would then name the sample, or let go of what it holds.
func catch(err *error) {
	if v := recover(); v != nil {
		*err = &pipe.PanicError{Value: v, Stack: debug.Stack()}
	}
}

func (w *work) fetch(ctx context.Context, it *item) error {
	f, err := w.files.Open(it.path)
	if err != nil {
		return err
	}
	defer f.Close()
	if it.file.content, err = w.budget.Acquire(ctx, w.age(it.id), forFiles, f.Size()); err != nil {
		return err
	}
	buffer, _ := w.buffers.Get().(*[]byte)
	if buffer == nil {
		buffer = new([]byte)
	}
	it.file.data = buffer
	if *buffer, err = f.Read(*buffer); err != nil {
		return err
	}
	it.file.content.Resize(int64(len(*buffer))) // the file may have grown
	// A bad header is the decoder's to report, so that statistics blame the stage in which people look.
	if it.file.info, it.file.bad = media.Probe(*buffer); it.file.bad != nil {
		return nil
	}
	working := it.file.info.WorkingBytes() + w.between(it)
	it.file.working, err = w.budget.Acquire(ctx, w.age(it.id), forDecoder, working)
	return err
}

// age orders the samples of a run for the budget, which always admits the oldest. Epochs count from the run's first: people use any number as
// an epoch, a date for one, and one that does not fit into the bits left here would make later samples the older ones.
func (w *work) age(id sample.ID) uint64 { return uint64(id.Epoch-w.first)<<40 | uint64(id.Pos) }

// drop gives back what an item holds. Dropping again does nothing.
func (w *work) drop(it *item) {
	w.dropFile(it)
	it.file.working.Release()
	it.file = file{}
	w.free(it.pixels)
	it.pixels = storedPixels{}
}

// dropFile gives back the file's bytes alone.
func (w *work) dropFile(it *item) {
	it.file.content.Release()
	if it.file.data != nil {
		w.buffers.Put(it.file.data)
		it.file.data = nil
	}
}

// decode writes a sample into its row: the picture from the file's bytes to its final pixels in one call, and the values that the source gave.
func (w *work) decode(ctx context.Context, it *item, b *Batch, row int) error {
	return w.intoRow(it, b, row, func(t *tool, dst []byte) error {
		decoder, err := w.prepare(it, t, w.images.Steps)
		if err != nil {
			return err
		}
		stride, err := fitting(&t.plan, dst)
		if err != nil {
			return err
		}
		return w.watched(ctx, it, func() error {
			return decoder.DecodeInto(dst, stride, *it.file.data, &it.file.info, &t.plan)
		})
	})
}

// intoRow has the picture drawn into its row, and adds the values that the source gave. The item is done with, whatever comes of it.
func (w *work) intoRow(it *item, b *Batch, row int, draw func(t *tool, dst []byte) error) (err error) {
	defer func() {
		w.drop(it)
		if err != nil {
			err = it.blame(err)
		}
	}()
	defer catch(&err)
	t := w.tool()
	defer w.tools.Put(t)
	if err := draw(t, w.layout.row(b.slot.Bytes(), w.fields.image, row)); err != nil {
		return err
	}
	w.scalars(it, b, row)
	return nil
}

// prepare plans the steps for the item's picture, and finds who decodes it.
func (w *work) prepare(it *item, t *tool, steps []media.Step) (media.Decoder, error) {
	if it.file.bad != nil {
		return nil, it.file.bad
	}
	decoder, err := media.DecoderFor(it.file.info.Format)
	if err != nil {
		return nil, err
	}
	t.chance = w.chance(it)
	return decoder, media.MakePlan(it.file.info, w.images.Decode, steps, &t.chance, &t.plan)
}

// stages is an upper estimate of the bytes of all pictures that the steps need on their way to the result: they may be enlarged before they are
// cut. Colours and axes may be changed in a picture of their own.
func (w *work) stages(it *item) (bytes int64) {
	t := w.tool()
	defer w.tools.Put(t)
	t.chance = w.chance(it)
	if media.MakePlan(it.file.info, w.images.Decode, w.images.Steps, &t.chance, &t.plan) != nil {
		return 0 // the operation will fail before it needs any
	}
	form := w.images.Decode.Form()
	for _, s := range t.plan.Stages {
		n := int64(s.Window.Width) * int64(s.Window.Height) * int64(form.Color.Channels()*form.DType.Size())
		if s.Turn >= 5 {
			n *= 2
		}
		bytes += n
	}
	return bytes
}

// chance gives the item's random draws.
func (w *work) chance(it *item) order.Key {
	return order.NewKey(w.seed, it.id.Epoch, w.sourceID, it.id.Index)
}

// fitting returns the stride with which the plan's result fills dst.
func fitting(plan *media.Plan, dst []byte) (stride int, err error) {
	form := plan.Form()
	if n, err := form.Shape().Bytes(form.DType); err != nil || n != int64(len(dst)) {
		return 0, fmt.Errorf("headrace: the picture comes out as %v, its row in the batch takes %d bytes", form, len(dst))
	}
	return form.RowBytes(), nil
}

// watched makes a call that may end in C code. Whoever looks after a crash finds the sample's name.
func (w *work) watched(ctx context.Context, it *item, call func() error) error {
	if w.inFlight != nil {
		cell := pipe.Permit(ctx)
		w.inFlight.Begin(cell, it.id, it.key)
		defer w.inFlight.End(cell)
	}
	return call()
}

func (w *work) tool() *tool {
	t, _ := w.tools.Get().(*tool)
	if t == nil {
		t = new(tool)
	}
	return t
}

// scalars writes what needs no work.
func (w *work) scalars(it *item, b *Batch, row int) {
	if w.fields.label >= 0 {
		putInt64(w.layout.row(b.slot.Bytes(), w.fields.label, row), it.label)
	}
	if w.fields.key >= 0 {
		b.texts[w.fields.key][row] = it.key
	}
}

func (it *item) blame(err error) error {
	return &sample.Error{Key: it.key, Index: it.id.Index, Err: err}
}

func putInt64(dst []byte, v int64) { binary.NativeEndian.PutUint64(dst, uint64(v)) }
