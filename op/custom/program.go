package custom

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"sync"
	"unsafe"

	"github.com/headrace/headrace/internal/record"
	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/op/core"
	"github.com/headrace/headrace/order"
	"github.com/headrace/headrace/pipe"
	"github.com/headrace/headrace/recipe"
	"github.com/headrace/headrace/sample"
	"github.com/headrace/headrace/tensor"
)

// Link implements [Linker].
func (h *held[In, Out]) Link(w *core.Env, name string, t *core.Scope) (core.Part, error) {
	sig, err := signatureOf(reflect.TypeFor[In](), reflect.TypeFor[Out]())
	if err != nil {
		return nil, err
	}
	out, err := sig.check(t.Schema, h.op)
	if err != nil {
		return nil, err
	}
	t.Schema = out
	return &linked[In, Out]{op: h.op, ports: newPorts(w, name, sig, out, &t.Columns)}, nil
}

// linked is an operation that finds the values it takes and gives. What that needs of
// reflection was done when it was linked.
type linked[In, Out any] struct {
	op    Operation[In, Out]
	ports ports
	calls sync.Pool // of *call
}

// call is one call's In and Out, at an address.
type call[In, Out any] struct {
	in  In
	out Out
}

// Run implements part.
func (l *linked[In, Out]) Run(ctx context.Context, it *record.Record, _ *core.Tool) error {
	c, _ := l.calls.Get().(*call[In, Out])
	if c == nil {
		c = new(call[In, Out])
	}
	defer func() {
		*c = call[In, Out]{}
		l.calls.Put(c)
	}()
	l.ports.load(unsafe.Pointer(&c.in), it)
	err := l.ports.work.Watched(ctx, it, func() (err error) {
		c.out, err = l.op.Do(ctx, c.in)
		return err
	})
	if err != nil {
		return l.ports.judge(err)
	}
	return l.ports.store(unsafe.Pointer(&c.out), it)
}

// Foresee implements part.
func (l *linked[In, Out]) Foresee(_ *record.Record, t *core.Tool) int64 {
	return l.ports.foresee(l.op, t)
}

// ports are the fields of an operation's In and Out with the places of their values.
type ports struct {
	work    *core.Env
	name    string
	op      uint64 // of the random draws
	in, out []port
	taken   []record.Column
	shows   record.Column // of the image in In; nowhere: there is none
	gives   record.Column // of that in Out
	form    media.Form    // of that, as far as it is known
}

type port struct {
	member
	place record.Column
}

func newPorts(w *core.Env, name string, sig signature, out sample.Schema, where *record.Columns) ports {
	p := ports{work: w, name: name, op: order.OpID(name)}
	for _, m := range sig.in {
		at := where.Of[m.name]
		if at.Kind == record.Arrays {
			n, _ := m.typ.Shape.Bytes(m.typ.DType) // of a Go type
			at.Size = int(n)
		}
		p.in = append(p.in, port{m, at})
		if m.image {
			p.shows = where.Of[m.name]
		}
	}

	// Take removes the field, so all inputs have been given their columns before.
	for _, m := range sig.in {
		if m.take {
			p.taken = append(p.taken, where.Take(m.name))
		}
	}

	for _, m := range sig.out {
		t := out[out.Find(m.name)].Type
		before, had := where.Of[m.name]
		at := where.Put(m.name, t)
		if had && at != before {
			p.taken = append(p.taken, before)
		}
		p.out = append(p.out, port{m, at})
		if m.image {
			p.gives, p.form = at, recipe.ImageForm(t)
		}
	}
	return p
}

// load fills an In.
func (p *ports) load(in unsafe.Pointer, it *record.Record) {
	v := it.Values
	for i := range p.in {
		m := &p.in[i]
		at := unsafe.Add(in, m.offset)
		switch m.place.Kind {
		case record.Numbers:
			copy(unsafe.Slice((*byte)(at), m.place.Size), v.Numbers[m.place.At:])
		case record.Texts:
			*(*string)(at) = v.Texts[m.place.At]
		case record.Bytes:
			*(*[]byte)(at) = v.Bytes[m.place.At]
		case record.Images:
			*(*media.Pixels)(at) = v.Images[m.place.At].Pixels
		case record.Arrays:
			copy(unsafe.Slice((*byte)(at), m.place.Size), v.Arrays[m.place.At].Data)
		default:
			p.loadOwn(m.own, at, it)
		}
	}
}

func (p *ports) loadOwn(t reflect.Type, at unsafe.Pointer, it *record.Record) {
	switch t {
	case randType:
		*(*Rand)(at) = Rand{key: p.work.RandomKey(it), op: p.op, log: logDraws(p.work, it, p.name)}
	case canvasType:
		*(*Canvas)(at) = Canvas{p.work, it}
	case idType:
		*(*sample.ID)(at) = it.ID
	}
}

// judge makes something else of a Skip where samples must not be dropped.
func (p *ports) judge(err error) error {
	if p.work.Ranks && errors.Is(err, pipe.Skip) {
		return fmt.Errorf("headrace: %s drops a sample: ranks could yield different numbers of batches; "+
			"it may do so with world_size 1, where steps_per_epoch is said, or where ranks agree while they run", p.name)
	}
	return err
}

// store takes what an operation gives. Every value has memory of its own: what two fields
// share would change in one when an operation changes the other.
func (p *ports) store(out unsafe.Pointer, it *record.Record) error {
	v := it.Values
	if p.gives.Kind == record.Images {
		if err := p.checkImage(out); err != nil {
			return err
		}
	}

	// Inputs go first: an output that is in the memory of one of them then needs no copy.
	for _, at := range p.taken {
		v.Forget(at)
	}
	for i := range p.out {
		v.Forget(p.out[i].place)
	}

	for i := range p.out {
		m := &p.out[i]
		at := unsafe.Add(out, m.offset)
		switch m.place.Kind {
		case record.Numbers:
			copy(v.Numbers[m.place.At:], unsafe.Slice((*byte)(at), m.place.Size))
		case record.Texts:
			v.Texts[m.place.At] = *(*string)(at)
		case record.Bytes:
			v.Bytes[m.place.At] = v.OwnBytes(*(*[]byte)(at))
		case record.Images:
			v.Images[m.place.At] = v.OwnImage(&p.work.Images, record.Image{Pixels: *(*media.Pixels)(at)})
		}
	}

	p.work.Settle(it)
	it.Account()
	return nil
}

// checkImage compares the image that an operation gives with its declared form.
func (p *ports) checkImage(out unsafe.Pointer) error {
	for i := range p.out {
		m := &p.out[i]
		if !m.image {
			continue
		}
		image := (*media.Pixels)(unsafe.Add(out, m.offset))
		if image.DType == tensor.Invalid {
			image.DType = tensor.Uint8
		}
		if err := image.Check(); err != nil {
			return fmt.Errorf("headrace: %s gives the image %q: %w", p.name, m.name, err)
		}
		if !fitsForm(image.Form(), p.form) || image.Width > media.MaxPixels/image.Height {
			return fmt.Errorf("headrace: %s gives the image %q as %v, and must give %v", p.name, m.name, image.Form(), p.form)
		}
	}
	return nil
}

func fitsForm(f, want media.Form) bool {
	if want.Height == media.Unknown {
		want.Height = f.Height
	}
	if want.Width == media.Unknown {
		want.Width = f.Width
	}
	return f == want
}

// foresee tells what becomes of the forms of images. An image whose size an operation
// does not say is taken to be no larger than the one before.
func (p *ports) foresee(op any, t *core.Tool) int64 {
	var form media.Form
	if p.shows.Kind == record.Images {
		form = t.Forms[p.shows.At]
	}

	t.Forget(p.taken)
	if p.gives.Kind != record.Images {
		return 0
	}

	after := p.form
	if r, ok := op.(resulter); ok && (p.shows.Kind != record.Images || form.Height > 0) {
		if f, err := r.Result(form); err == nil {
			after.Height, after.Width = f.Height, f.Width
		}
	}
	return t.ForeseeImage(p.gives, after, form)
}
