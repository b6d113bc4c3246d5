package data

import (
	"context"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/headrace/headrace/internal/npy"
	"github.com/headrace/headrace/internal/npz"
	"github.com/headrace/headrace/internal/record"
	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/op/core"
	"github.com/headrace/headrace/recipe"
	"github.com/headrace/headrace/sample"
	"github.com/headrace/headrace/tensor"
)

// ReadArrays is a part of a recipe that finds the arrays in an archive of NumPy's. Arrays
// in the order of samples stay in the memory that the file was read to.
type ReadArrays struct {
	Env    *core.Env
	From   record.Column
	Fields []ArrayField
	All    bool // other arrays than these are an error
}

// ArrayField is a field that an array becomes.
type ArrayField struct {
	sample.Field // of which extents may be unknown
	From         string
	To           record.Column
}

// Link implements [core.Linker].
func (d *DecodeNPZ) Link(w *core.Env, _ string, t *core.Scope) (core.Part, error) {
	out, err := d.Check(t.Schema)
	if err != nil {
		return nil, err
	}
	next := &ReadArrays{Env: w, From: t.Columns.Take(d.Field), All: d.Fields == nil}
	for _, f := range d.types() {
		f.Type.Axes = recipe.SourceAxes(f)
		one := ArrayField{Field: f, From: f.Name}
		for _, from := range d.Fields {
			if from.Name == f.Name {
				one.From = from.From
			}
		}
		if f.Type.Kind == sample.Tensor && f.Type.Axes == "" {
			one.To = t.Columns.PutArray(f.Name)
		} else {
			one.To = t.Columns.Put(f.Name, f.Type)
		}
		next.Fields = append(next.Fields, one)
	}
	t.Schema = out
	return next, nil
}

// Run implements part.
func (p *ReadArrays) Run(_ context.Context, it *record.Record, _ *core.Tool) error {
	arrays, err := npz.Open(it.Values.Bytes[p.From.At])
	if err != nil {
		return fmt.Errorf("headrace: it is not an archive of arrays: %w", err)
	}
	if p.All {
		if err := p.others(arrays); err != nil {
			return err
		}
	}
	for i := range p.Fields {
		f := &p.Fields[i]
		a, err := find(arrays, f.From)
		if err != nil {
			return err
		}
		if err := p.read(it.Values, f, a); err != nil {
			return fmt.Errorf("headrace: %w", err)
		}
	}
	it.Values.Forget(p.From)
	p.Env.Settle(it)
	return nil
}

// others refuses a file with an array that no field has.
func (p *ReadArrays) others(arrays []npz.Array) error {
	for _, a := range arrays {
		if a.Other != "" {
			return fmt.Errorf("headrace: it has %q, which is %s: %s", a.Name, a.Other, chosen(arrays))
		}
		if !slices.ContainsFunc(p.Fields, func(f ArrayField) bool { return f.From == a.Name }) {
			return fmt.Errorf("headrace: it has the array %q, which the first file has not: name those to read, as in .decode_npz([%q])",
				a.Name, p.Fields[0].From)
		}
	}
	return nil
}

// read gives a field its value.
func (p *ReadArrays) read(v *record.Values, f *ArrayField, a *npz.Array) error {
	fits := func(form npy.Form) error { return f.fits(form) }
	room := func(n int) []byte { return *v.Borrow(&p.Env.Images, n) }
	switch f.To.Kind {
	case record.Texts:
		file, form, err := a.Whole(room)
		if err != nil {
			return err
		}
		if err := fits(form); err != nil {
			return err
		}
		v.Texts[f.To.At], err = textOf(file[form.At:], form)
		return err
	case record.Bytes:
		file, form, err := a.Whole(room)
		if err != nil {
			return err
		}
		if err := fits(form); err != nil {
			return err
		}
		v.Bytes[f.To.At] = objectOf(room, file)
		return nil
	}

	data, form, err := a.Read(fits, room)
	if err != nil {
		return err
	}
	if form.DType == tensor.Bool && slices.ContainsFunc(data, func(b byte) bool { return b > 1 }) {
		return fmt.Errorf("array %q: a truth value is neither 0 nor 1", a.Name)
	}
	if f.To.Kind == record.Images {
		is := sample.TensorType(form.DType, form.Shape...)
		is.Axes = f.Type.Axes
		image := v.NewImage(&p.Env.Images, recipe.ImageForm(is)) // which has room after its end
		copy(image.Data, data)
		v.Images[f.To.At] = image
		return nil
	}
	v.Arrays[f.To.At] = record.Array{Shape: form.Shape, Data: data}
	return nil
}

// fits returns an error if an array cannot be the field's.
func (f *ArrayField) fits(form npy.Form) error {
	is := typeOf(form)
	fits := is.Kind == f.Type.Kind || f.Type.Kind == sample.Object
	if bits := f.Type.DType == tensor.BFloat16 && is.DType == tensor.Uint16; fits && is.Kind == sample.Tensor {
		fits = (is.DType == f.Type.DType || bits) && core.FitsShape(form.Shape, f.Type.Shape)
	}
	if fits && f.Type.Axes != "" {
		fits = !slices.Contains(form.Shape, 0)
	}
	if fits {
		return nil
	}
	what := is.String()
	if is.Kind != sample.Tensor {
		what = fmt.Sprintf("an array %v of %s", form.Shape, form.Descr)
	}
	return fmt.Errorf("array %q is %s: must be %v, as the first file or the recipe says", f.From, what, f.Type)
}

// textOf returns the text of an element, which NumPy fills up with zeros.
func textOf(data []byte, f npy.Form) (string, error) {
	var order binary.ByteOrder = binary.LittleEndian
	if f.Swapped {
		order = binary.BigEndian
	}
	var text strings.Builder
	for at := 0; at+4 <= len(data); at += 4 {
		r := order.Uint32(data[at:])
		if r > utf8.MaxRune || !utf8.ValidRune(rune(r)) {
			return "", fmt.Errorf("its text has the character %#x, which is none of Unicode's", r)
		}
		text.WriteRune(rune(r))
	}
	return strings.TrimRight(text.String(), "\x00"), nil
}

// loading is a pickle that is read as headrace.io.load_npy(buffer), of protocol 5.
const loading = "\x80\x05cheadrace.io\nload_npy\n\x97\x85R."

// objectOf returns a file of one array as an object of Python's, as docs/protocol.md has
// them: the file is a buffer of a pickle that is the same for all. Only load_npy looks at
// its bytes, which evaluates nothing in them.
func objectOf(room func(n int) []byte, file []byte) []byte {
	const head = 16 + 8 + len(loading)
	const start = (head + 63) / 64 * 64
	n := start + len(file)
	b := room(n)[:n:n]
	clear(b[:start])
	binary.LittleEndian.PutUint32(b, 1)
	binary.LittleEndian.PutUint64(b[8:], uint64(len(loading)))
	binary.LittleEndian.PutUint64(b[16:], uint64(len(file)))
	copy(b[24:], loading)
	copy(b[start:], file)
	return b
}

// Foresee implements part: whatever cannot stay where it is has other memory.
func (p *ReadArrays) Foresee(it *record.Record, t *core.Tool) (bytes int64) {
	for _, f := range p.Fields {
		if f.To.Kind == record.Images {
			bytes += t.ForeseeImage(f.To, recipe.ImageForm(f.Type), media.Form{})
		}
	}
	arrays, err := npz.Open(it.Values.Bytes[p.From.At])
	if err != nil {
		return 0 // Run says so
	}
	for i := range p.Fields {
		f := &p.Fields[i]
		if a, err := find(arrays, f.From); err == nil {
			bytes += a.Memory()
			if f.To.Kind == record.Images {
				bytes += a.Memory()
			}
		}
	}
	return bytes
}
