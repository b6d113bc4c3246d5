package core

import (
	"context"

	"github.com/headrace/headrace/budget"
	"github.com/headrace/headrace/internal/record"
	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/pipe"
)

// MemoryScope is as many parts of a recipe as can be foreseen at once: up to the next
// image that is decoded from bytes which are not there yet. Before the first part, a
// record waits for the bytes that all of them take. An operation cannot wait for bytes
// itself, because others wait for it to end.
type MemoryScope struct {
	Env   *Env
	Probe record.Column // the bytes that are decoded; the zero Column: no part decodes
	Files Opener        // of the part that decodes a file by its path; nil: none does
	Parts []Part
}

// Opener opens the file that a record names, and reads it where it has to be in memory.
// What is wrong with it is for the decoder to report, so that statistics blame the stage
// in which people look.
type Opener interface {
	Open(context.Context, *record.Record) error
}

// Reserve waits for what the parts take, and reads what was opened for them.
func (g *MemoryScope) Reserve(ctx context.Context, it *record.Record) (err error) {
	lane, of := it.Lane()
	if err := g.ReserveIn(ctx, it, lane, g.Env.Age(of)); err != nil || it.Opened == nil {
		return err
	}
	n, err := it.Opened.Load()
	pipe.AddBytes(ctx, n)
	return err
}

// ReserveIn waits for the bytes in a lane of the budget, in which the record has this
// age.
func (g *MemoryScope) ReserveIn(ctx context.Context, it *record.Record, lane *budget.Lane, age uint64) (err error) {
	if g.Probe.Kind == record.Bytes {
		// A bad header is the decoder's to report, so that statistics blame the stage in
		// which people look.
		it.Header, it.HeaderErr = media.Probe(it.Values.Bytes[g.Probe.At])
	}
	if g.Files != nil {
		if err := g.Files.Open(ctx, it); err != nil {
			return err
		}
	}
	before := it.Working
	it.Working, err = lane.Acquire(ctx, age, ForDecoder, g.most(it))
	before.Release()
	return err
}

// most is what the parts take at most, one at a time: the images that are stored, and
// what the part needs besides.
func (g *MemoryScope) most(it *record.Record) (most int64) {
	t := g.Env.Tool(it)
	defer g.Env.Done(t)
	for i := range t.Forms {
		t.Put(i, it.Values.Images[i].Form())
		for k := range i {
			if record.Overlap(it.Values.Images[i].Data, it.Values.Images[k].Data) {
				t.memory[i] = t.memory[k]
			}
		}
	}
	for _, p := range g.Parts {
		most = max(most, t.stored()+p.Foresee(it, t))
	}
	return most
}

// Share notes that the image of a column is in the memory of another's.
func (t *Tool) Share(from, to int) {
	t.Forms[to], t.memory[to] = t.Forms[from], t.memory[from]
}

// Swap notes that the images of two columns change places.
func (t *Tool) Swap(a, b int) {
	t.Forms[a], t.Forms[b] = t.Forms[b], t.Forms[a]
	t.memory[a], t.memory[b] = t.memory[b], t.memory[a]
}

// Forget notes that the images of some columns are gone.
func (t *Tool) Forget(columns []record.Column) {
	for _, at := range columns {
		if at.Kind == record.Images {
			t.Put(at.At, media.Form{})
		}
	}
}

// ForeseeImage notes the form that an image will have, and returns the bytes that it
// takes. What is not known of its size is taken to be as it was before.
func (t *Tool) ForeseeImage(at record.Column, after, before media.Form) int64 {
	if after.Height <= 0 {
		after.Height = before.Height
	}
	if after.Width <= 0 {
		after.Width = before.Width
	}
	if after.Frames == media.Unknown {
		after.Frames = before.Frames
	}
	counted := !after.Moves() || after.Frames > 0
	sized := counted && after.Height > 0 && after.Width > 0
	if !sized || after.Width > media.MaxPixels/after.Height {
		t.Put(at.At, media.Form{}) // known when it is there
		return 0
	}
	t.Put(at.At, after)
	return record.StoredBytes(after)
}
