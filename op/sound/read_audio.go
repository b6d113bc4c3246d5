package sound

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/headrace/headrace/internal/numbers"
	"github.com/headrace/headrace/internal/record"
	"github.com/headrace/headrace/media/sound"
	"github.com/headrace/headrace/media/sound/wav"
	"github.com/headrace/headrace/op/core"
	"github.com/headrace/headrace/order"
	"github.com/headrace/headrace/pipe"
	"github.com/headrace/headrace/sample"
	"github.com/headrace/headrace/tensor"
)

func init() {
	sound.Register(wav.Format)
	sound.Register(wav.Sphere)
	sound.RegisterRaw(wav.OpenRaw)
	for _, f := range []sound.Format{wav.AIFF, wav.AU, wav.CAF} {
		sound.Register(f)
	}
}

// ReadAudio is a part of a recipe that decodes a window of a recording.
type ReadAudio struct {
	Env    *core.Env
	Name   string // of the step
	drawID uint64 // of the random draws
	Args   *DecodeAudio
	Type   sample.Type // of which extents may be unknown
	From   record.Column
	To     record.Column
	Last   bool // the samples go into the row
}

// NewReadAudio makes the part of a step, but for its columns.
func NewReadAudio(w *core.Env, name string, args *DecodeAudio) *ReadAudio {
	return &ReadAudio{Env: w, Name: name, drawID: order.OpID(name), Args: args, Type: args.Type()}
}

// Link implements [core.Linker].
func (d *DecodeAudio) Link(w *core.Env, name string, t *core.Scope) (core.Part, error) {
	read := NewReadAudio(w, name, d)
	var next interface {
		core.Part
		core.Opener
	} = read
	if d.Window != "" {
		next = &HearAudio{read, t.Columns.Of[d.Window], numbers.Reader(t.Schema[t.Schema.Find(d.Window)].Type.DType)}
	}
	read.From, read.To = t.Decoded(d.FieldIn(t.Schema), d.To, read.Type)
	if read.ByPath() {
		t.Memory.Files = next
	}
	return next, nil
}

// FillRows has the samples go into the row.
func (p *ReadAudio) FillRows() { p.Last = true }

// Run implements part.
func (p *ReadAudio) Run(ctx context.Context, it *record.Record, t *core.Tool) error {
	return p.Env.Watched(ctx, it, func() error { return p.decode(ctx, it, t) })
}

// ByPath tells whether records have the path of a file, and not its content.
func (p *ReadAudio) ByPath() bool { return p.From.Kind == record.Texts }

// opener opens the recording of a record.
func (p *ReadAudio) opener(it *record.Record) func(sound.Options) (sound.Stream, error) {
	if p.ByPath() {
		return it.Opened.(*audioFile).open
	}
	return func(o sound.Options) (sound.Stream, error) { return sound.OpenWith(it.Values.Bytes[p.From.At], o) }
}

func (p *ReadAudio) decode(ctx context.Context, it *record.Record, t *core.Tool) error {
	return p.window(ctx, it, t, func(w *AudioWindow) error {
		data := *it.Values.Borrow(&p.Env.Images, w.Bytes())
		if err := w.Fill(data, &p.Env.Images); err != nil {
			return err
		}
		p.put(it, data, w.Shape())
		return nil
	})
}

// Result implements [RowPart].
func (p *ReadAudio) Result() record.Column { return p.To }

// Into implements [RowPart].
func (p *ReadAudio) Into(ctx context.Context, it *record.Record, t *core.Tool, row []byte) error {
	return p.Env.Watched(ctx, it, func() error {
		return p.window(ctx, it, t, func(w *AudioWindow) error {
			if w.Bytes() != len(row) {
				return fmt.Errorf("headrace: the window has %d bytes, but its row in the batch has %d", w.Bytes(), len(row))
			}
			return w.Fill(row, &p.Env.Images)
		})
	})
}

// window has the window of a record read.
func (p *ReadAudio) window(ctx context.Context, it *record.Record, t *core.Tool, read func(w *AudioWindow) error) error {
	if p.ByPath() {
		if it.HeaderErr != nil {
			return it.HeaderErr
		}
		f := it.Opened.(*audioFile)
		before := f.read
		defer func() { pipe.AddBytes(ctx, f.read-before) }()
	}
	w, err := OpenAudio(p.opener(it), p.Args, func(n int) int {
		from := int(t.Chance.Intn(p.drawID, 0, n))
		if p.Env.Ledger {
			it.Drew(p.Name, map[string]any{"start": int64(from)})
		}
		return from
	})
	if err != nil {
		return err
	}
	defer w.Close()
	if err := read(w); err != nil {
		return err
	}
	countDamaged(p.Env, w)
	return nil
}

// countDamaged counts a recording, or a window of one, that is kept although it is
// damaged.
func countDamaged(w *core.Env, s sound.Patched) {
	if s.Damaged() {
		atomic.AddInt64(&w.Counts.DamagedAudio, 1)
	}
}

// put gives a record its samples instead of the file.
func (p *ReadAudio) put(it *record.Record, data []byte, shape tensor.Shape) {
	if p.ByPath() {
		it.Shut()
	}
	it.Values.Forget(p.From)
	it.Values.Arrays[p.To.At] = record.Array{Shape: shape, Data: data}
	p.Env.Settle(it)
	it.Account()
}

// Foresee implements part. What is not known of a damaged file costs nothing.
func (p *ReadAudio) Foresee(it *record.Record, _ *core.Tool) int64 {
	if p.Type.Fixed() {
		n, _ := p.Type.Shape.Bytes(p.Type.DType) // checked with the recipe
		more := int64(0)
		if p.Args.Filter != "" { // what it makes is held, too
			more = 2 * n
		}
		if p.Last {
			return n + more
		}
		return 2*n + more
	}
	if p.ByPath() && it.Opened == nil {
		return 0
	}
	w, err := openAudio(p.opener(it), p.Args)
	if err != nil {
		return 0
	}
	defer w.Close()
	n := w.Samples()
	if most := p.Args.Samples(w.Rate()); most >= 0 {
		n = min(n, most)
	}
	bytes := 2 * n * int64(w.Channels()) * 4
	if p.Args.Filter != "" {
		bytes *= 2
	}
	return bytes
}
