package flow

import (
	"errors"
	"fmt"
	"math"

	"github.com/headrace/headrace/internal/argument"
	"github.com/headrace/headrace/recipe"
	"github.com/headrace/headrace/sample"
	"github.com/headrace/headrace/tensor"
)

var _ = Ops.Add(recipe.NewOp[Pack]("pack", recipe.Batching,
	"Pack several sequences into each row of a batch, without cutting any.").Explained(`
A sequence is an array whose first extent alone is unknown, as 'decode_npy' makes it; those of a sample must be equally long. A batch has
[size, length, …] and, for each 'field':

- 'field_segment_ids': 'int32 [size, length]': the element's sequence in its row, from 1; 0 for padding.
- 'field_positions': 'int32 [size, length]': the element's place in its sequence, from 0.

A single number, such as a label, is repeated for each element. Text, such as 'key', is one JSON list per row:
'json.loads(batch["key"][0])' has one value per sequence.

The number of batches depends on the samples; 'loader.max_batches' is its bound.`,
	".pack(2048, 8)").Called("length, size"))

// Pack are the arguments of the operation pack.
type Pack struct {
	Length     int             `json:"length,omitempty" required:"true" min:"1" example:"2048" doc:"length of a row"`
	Size       int             `json:"size,omitempty" min:"1" example:"8" doc:"rows in a batch, on each rank"`
	GlobalSize int             `json:"global_size,omitempty" min:"1" doc:"rows in a batch over all ranks, instead of on each"`
	Fit        string          `json:"fit,omitempty" choices:"best,first" default:"best"`
	Open       int             `json:"open,omitempty" min:"1" default:"64"`
	Pad        recipe.PadValue `json:"pad,omitzero"`
	Overlong   string          `json:"overlong,omitempty" choices:"error,truncate,drop" default:"error"`
	DropLast   bool            `json:"drop_last" doc:"drop the epoch's last batch if it has fewer rows"`
}

// Docs implements [argument.Documented].
func (*Pack) Docs() map[string]string {
	return map[string]string{
		"fit":  "best: the open row where least room is left; first: the oldest row with room",
		"open": "rows filled at once: more waste less room and hold more samples",
		"pad": "the value of unused room: a number, or numbers by field, such as {\"labels\": -100}, 0 for " +
			"others; by default 0",
		"overlong": "sequences longer than a row: error: bad samples; truncate: cut at the end; drop: left out",
	}
}

// Complete implements [recipe.Completer].
func (p Pack) Complete() recipe.Args {
	p.Pad = p.Pad.Complete()
	return &p
}

// Check implements [recipe.Args]. The schema that comes out is that of a row. Sequences
// of a sample are equally long, and each field of them has, beside it, which sequence of
// the row an element belongs to, from 1, or 0, and its position there. A number of a
// sample is repeated for each of its elements. Text is one JSON list a row.
func (p *Pack) Check(in sample.Schema) (sample.Schema, error) {
	errs := []error{checkSome("length", p.Length), checkRows("length", p.Length)}
	if p.Size == 0 && p.GlobalSize == 0 {
		errs = append(errs, errNoSize)
	}
	errs = append(errs, checkSizes(p.Size, p.GlobalSize)...)
	errs = append(errs, argument.Choice(p, "fit", p.Fit), argument.Choice(p, "overlong", p.Overlong))
	if p.Open < 0 || p.Open > math.MaxInt32 {
		errs = append(errs, recipe.Wrong("open", "is %d: must be from 1 to %d", p.Open, math.MaxInt32))
	}

	sequences := in.Ragged()
	if len(sequences) == 0 {
		return in, errors.Join(append(errs, recipe.NoSequences(in, "pack"))...)
	}

	out := in
	var padded []sample.Field
	for _, f := range in {
		switch {
		case f.Type.Ragged():
			padded = append(padded, f)
			out = out.With(f.Name, withLength(f.Type, p.Length))
			// A row holds several samples: with these a model keeps them apart.
			for _, name := range []string{f.Name + recipe.SegmentIDs, f.Name + recipe.Positions} {
				var err error
				out, err = beside(out, name, sample.TensorType(tensor.Int32, p.Length))
				errs = append(errs, err)
			}
		case f.Type.Kind == sample.Tensor && len(f.Type.Shape) == 0:
			padded = append(padded, f)
			out = out.With(f.Name, sample.TensorType(f.Type.DType, p.Length))
		case f.Type.Kind == sample.Text && len(f.Type.Shape) > 0:
			errs = append(errs, fmt.Errorf("cannot pack the field %q, which is lists of text: "+
				"a row has several samples; make one text of each, or leave it out: drop(%q)", f.Name, f.Name))
		case f.Type.Kind == sample.Text:
		case f.Type.Kind == sample.Object:
			errs = append(errs, fmt.Errorf("cannot pack the field %q, which is an object: "+
				"a row has several samples; make arrays or text of what is needed of it, and leave it out", f.Name))
		default:
			errs = append(errs, fmt.Errorf("cannot pack the field %q, which is %v: "+
				"only arrays whose first extent alone is unknown, single numbers and text can be packed", f.Name, f.Type))
		}
	}
	return out, errors.Join(append(errs, p.Pad.Check(padded)...)...)
}

// Traits implements [recipe.Traited].
func (p *Pack) Traits() recipe.Traits {
	return recipe.Traits{Batches: &recipe.Batches{GlobalSize: p.GlobalSize, Pack: &recipe.Packing{
		Length: p.Length, Size: p.Size, Open: p.Open, First: p.Fit == "first", Pad: p.Pad, Overlong: p.Overlong, DropLast: p.DropLast,
	}}}
}
