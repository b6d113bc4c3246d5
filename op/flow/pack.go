package flow

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/headrace/headrace/internal/argument"
	"github.com/headrace/headrace/internal/words"
	"github.com/headrace/headrace/recipe"
	"github.com/headrace/headrace/sample"
	"github.com/headrace/headrace/tensor"
)

var _ = Ops.Add(recipe.NewOp[Pack]("pack", recipe.Batching,
	"Pack several sequences into each row of a batch.").Explained(`
A sequence is an array whose first extent alone is unknown, as 'decode_npy' makes it; those of a sample must be equally
long, unless 'length' gives each its own. A batch has [size, length, …] and, for each 'field':

- 'field_segment_ids': 'int32 [size, length]': the element's sequence in its row, from 1; 0 for padding.
- 'field_positions': 'int32 [size, length]': the element's place in its sequence, or in the part of it that the row has, from 0.
- with 'max_segments': 'field_cu_seqlens': 'int32 [size, max_segments + 1]': where sequences begin in the row, and, after the last, its end;
  and 'field_max_seqlen': 'int32 [size]', the longest.

A single number, such as a label, is repeated for each element of the first sequence. Text, such as 'key', is one JSON list per row:
'json.loads(batch["key"][0])' has one value per sequence.

The number of batches depends on the samples; 'loader.max_batches' is its bound.`,
	".pack(2048, 8)").Called("length, size"))

// Pack are the arguments of the operation pack.
type Pack struct {
	Length      recipe.RowLengths `json:"length,omitzero" required:"true" example:"2048"`
	Size        int               `json:"size,omitempty" min:"1" example:"8" doc:"rows in a batch, on each rank"`
	GlobalSize  int               `json:"global_size,omitempty" min:"1" doc:"rows in a batch over all ranks, instead of on each"`
	Fit         string            `json:"fit,omitempty" choices:"best,first,best-wrap,wrap" default:"best"`
	Open        int               `json:"open,omitempty" min:"1" default:"64"`
	MaxSegments *int              `json:"max_segments,omitempty" min:"1" max:"1048576"`
	Domain      string            `json:"domain,omitempty"`
	Pad         recipe.PadValue   `json:"pad,omitzero"`
	Overlong    string            `json:"overlong,omitempty" choices:"error,truncate,drop,split"`
	DropLast    bool              `json:"drop_last" doc:"drop the epoch's last batch if it has fewer rows"`
}

// Docs implements [argument.Documented].
func (*Pack) Docs() map[string]string {
	return map[string]string{
		"length": "length of a row: a number, or numbers by field for sequences that are not equally long, such as " +
			"{\"tokens\": 2048, \"patches\": 1024}",
		"fit": "best: of the samples held, the longest, and then always the longest that fits; first: the longest, " +
			"and of the others, in their order, each that fits; best-wrap: as best, and the beginning of another fills " +
			"what is left, so that a sequence is cut at most once; wrap: sequences are laid end to end and cut where rows end",
		"open":         "rows' worth of samples that are held to choose from: more waste less room. wrap holds one row",
		"max_segments": "most sequences in a row; by default as many as have room",
		"domain":       "a field of text or whole numbers: a row has samples of one value",
		"pad": "the value of unused room: a number, or numbers by field, such as {\"labels\": -100}, 0 for " +
			"others; by default 0",
		"overlong": "sequences longer than a row: error: bad samples; truncate: cut at the end; drop: left out; split: made " +
			"into several, all but the last as long as a row. By default error, and with wrap split",
	}
}

// Complete implements [recipe.Completer].
func (p Pack) Complete() recipe.Args {
	p.Pad = p.Pad.Complete()
	if p.Overlong == "" {
		p.Overlong = "error"
		if p.Fit == "wrap" {
			p.Overlong = "split"
		}
	}
	return &p
}

// Check implements [recipe.Args]. The schema that comes out is that of a row. Each
// sequence has, beside it, which sample of the row an element belongs to, from 1, or 0,
// and its position there. A number of a sample is repeated for each element of its first
// sequence. Text is one JSON list a row.
func (p *Pack) Check(in sample.Schema) (sample.Schema, error) {
	errs := p.checkOptions()
	sequences := in.Ragged()
	if len(sequences) == 0 {
		return in, errors.Join(append(errs, recipe.NoSequences(in, "pack"))...)
	}
	errs = append(errs, p.Length.Check(sequences)...)
	errs = append(errs, p.checkDomain(in))

	out := in
	var padded []sample.Field
	add := func(name string, shape ...int) {
		var err error
		out, err = beside(out, name, sample.TensorType(tensor.Int32, shape...))
		errs = append(errs, err)
	}
	for _, f := range in {
		switch {
		case f.Type.Ragged():
			padded = append(padded, f)
			length := p.Length.Of(f.Name)
			out = out.With(f.Name, withLength(f.Type, length))
			// A row holds several samples: with these a model keeps them apart.
			add(f.Name+recipe.SegmentIDs, length)
			add(f.Name+recipe.Positions, length)
			if p.MaxSegments != nil {
				add(f.Name+recipe.CuSeqlens, *p.MaxSegments+1)
				add(f.Name + recipe.MaxSeqlen)
			}
		case f.Type.Kind == sample.Tensor && len(f.Type.Shape) == 0:
			padded = append(padded, f)
			out = out.With(f.Name, sample.TensorType(f.Type.DType, p.Length.Of(sequences[0].Name)))
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

func (p *Pack) checkOptions() (errs []error) {
	if p.Length.Fields == nil {
		errs = append(errs, checkSome("length", p.Length.All), checkRows("length", p.Length.All))
	}
	if p.Size == 0 && p.GlobalSize == 0 {
		errs = append(errs, errNoSize)
	}
	errs = append(errs, checkSizes(p.Size, p.GlobalSize)...)
	errs = append(errs, argument.Choice(p, "fit", p.Fit), argument.Choice(p, "overlong", p.Overlong))
	if p.Open < 0 || p.Open > math.MaxInt32 {
		errs = append(errs, recipe.Wrong("open", "is %d: must be from 1 to %d", p.Open, math.MaxInt32))
	}
	if n := p.MaxSegments; n != nil && (*n < 1 || *n > mostSegments) {
		errs = append(errs, recipe.Wrong("max_segments", "is %d: must be from 1 to %d", *n, mostSegments))
	}
	if p.Length.Fields != nil && (p.cuts() || p.Overlong == "split") {
		what := fmt.Sprintf("fit is %q", p.Fit)
		if !p.cuts() {
			what = `overlong is "split"`
		}
		errs = append(errs, recipe.Wrong("length", "has a number for each field, and %s: where sequences are cut, "+
			"all of a sample are equally long, and rows have one length", what))
	}
	return errs
}

const mostSegments = 1 << 20

// cuts tells whether a sequence may be in two rows.
func (p *Pack) cuts() bool { return p.Fit == "wrap" || p.Fit == "best-wrap" }

func (p *Pack) checkDomain(in sample.Schema) error {
	if p.Domain == "" {
		return nil
	}
	i := in.Find(p.Domain)
	if i < 0 {
		return recipe.Wrong("domain", "is %q: the samples have the fields %s", p.Domain, words.List(in.Names()))
	}
	t := in[i].Type
	float := []tensor.DType{tensor.Float16, tensor.BFloat16, tensor.Float32, tensor.Float64}
	if len(t.Shape) == 0 && (t.Kind == sample.Text || t.Kind == sample.Tensor && !slices.Contains(float, t.DType)) {
		return nil
	}
	return recipe.Wrong("domain", "is %q, which is %v: rows are kept apart by text, one whole number or a bool", p.Domain, t)
}

// Traits implements [recipe.Traited].
func (p *Pack) Traits() recipe.Traits {
	of := &recipe.Packing{Lengths: p.Length, Size: p.Size, Open: p.Open, Fit: p.Fit, Domain: p.Domain, Pad: p.Pad,
		Overlong: p.Overlong, DropLast: p.DropLast}
	if p.MaxSegments != nil {
		of.Segments = *p.MaxSegments
	}
	return recipe.Traits{Batches: &recipe.Batches{GlobalSize: p.GlobalSize, Pack: of}}
}
