package column

import (
	"context"
	"sync"
	"unsafe"

	"github.com/headrace/headrace/internal/record"
	"github.com/headrace/headrace/op/core"
	"github.com/headrace/headrace/sample"
	"github.com/headrace/headrace/tensor"
)

// Part is a part of a recipe: steps on columns, one after the other.
type Part struct {
	Fields []Field // in the order in which they are made

	env *core.Env
}

// Field is one that a step makes.
type Field struct {
	Column
	Step  string          // its name
	Takes []record.Column // where From is
	Gives record.Column   // where To is

	batches bool // samples are batches
}

// link makes the part of a step.
func link(w *core.Env, name string, s Step, t *core.Scope) (core.Part, error) {
	all, err := s.columns(t.Schema, t.Columns.Rows)
	if err != nil {
		return nil, err
	}
	p := &Part{env: w}
	for _, c := range all {
		f := Field{Column: c, Step: name, batches: t.Columns.Rows}
		for _, from := range c.From {
			f.Takes = append(f.Takes, t.Columns.Take(from))
		}
		f.Gives = t.Columns.PutAny(c.To, c.Type)
		t.Schema = c.after(t.Schema)
		p.Fields = append(p.Fields, f)
	}
	return p, nil
}

// Then appends the steps of another part.
func (p *Part) Then(next *Part) { p.Fields = append(p.Fields, next.Fields...) }

// given are the values of which a field is made.
type given struct {
	values []Values
	ends   []int
}

var givens = sync.Pool{New: func() any { return new(given) }}

// Run implements [core.Part].
func (p *Part) Run(_ context.Context, it *record.Record, _ *core.Tool) error {
	g := givens.Get().(*given)
	defer func() {
		clear(g.values)
		givens.Put(g)
	}()
	for i := range p.Fields {
		f := &p.Fields[i]
		if bad, lines := p.make(f, it.Values, g); bad != nil {
			row := -1
			if f.batches && bad.Line >= 0 {
				row = bad.Line / max(1, lines/max(1, rowsOf(it.Values, f.Takes[0], lines)))
			}
			return &core.StepError{Step: f.Step, Err: f.Wrong(bad, row)}
		}
	}
	p.env.Settle(it)
	it.Account()
	return nil
}

// rowsOf returns how many rows the value of a batch has.
func rowsOf(v *record.Values, at record.Column, lines int) int {
	if at.Kind == record.Arrays {
		return v.Arrays[at.At].Shape[0]
	}
	return lines
}

// make makes a field, and returns of how many lines.
func (p *Part) make(f *Field, v *record.Values, g *given) (bad *Bad, lines int) {
	g.values = g.values[:0]
	for i, at := range f.Takes {
		g.values = append(g.values, g.valuesOf(v, at, f.In[i]))
	}
	lines = f.Lines(g.values)

	if f.Gives.Kind == record.Numbers {
		if bad := f.Fill(v.Numbers[f.Gives.At:][:f.Gives.Size], g.values); bad != nil {
			return bad, lines
		}
	} else {
		shape := f.shape(v, lines)
		memory := v.Borrow(&p.env.Images, lines*f.OutLine)
		if bad := f.Fill(*memory, g.values); bad != nil {
			return bad, lines
		}
		v.Arrays[f.Gives.At] = record.Array{Shape: shape, Data: *memory}
	}
	for _, at := range f.Takes {
		if at != f.Gives {
			v.Forget(at)
		}
	}
	return nil, lines
}

// valuesOf returns the values of a column. Those of several texts are one after the
// other in memory of their own.
func (g *given) valuesOf(v *record.Values, at record.Column, t sample.Type) Values {
	if at.Kind != record.Texts {
		return Values{Data: v.Data(at)}
	}
	text := v.Texts[at.At]
	g.ends = g.ends[:0]
	if len(t.Shape) == 0 {
		g.ends = append(g.ends, len(text))
	} else {
		n, _ := record.CountRows(text)
		end := 0
		for i := range n {
			end += len(record.Row(text, i))
			g.ends = append(g.ends, end)
		}
		text = text[len(text)-end:]
	}
	return Values{Texts: sample.Texts{Bytes: unsafe.Slice(unsafe.StringData(text), len(text)), Ends: g.ends}}
}

// shape returns the shape of the field. Extents that its type leaves open are those of
// the field that it is made of.
func (f *Field) shape(v *record.Values, lines int) tensor.Shape {
	if f.Type.Fixed() {
		return f.Type.Shape
	}
	shape := append(tensor.Shape{}, f.Type.Shape...)
	for i, n := range shape {
		switch {
		case n != tensor.Unknown:
		case f.Takes[0].Kind == record.Arrays:
			shape[i] = v.Arrays[f.Takes[0].At].Shape[i]
		default: // texts
			shape[i] = lines
		}
	}
	return shape
}

// Foresee implements [core.Part]. Arrays of unknown size are accounted for when they are
// made.
func (p *Part) Foresee(*record.Record, *core.Tool) (bytes int64) {
	for _, f := range p.Fields {
		if f.Gives.Kind == record.Arrays && f.Type.Fixed() {
			n, _ := f.Type.Shape.Bytes(f.Type.DType) // checked with the recipe
			bytes += n
		}
	}
	return bytes
}
