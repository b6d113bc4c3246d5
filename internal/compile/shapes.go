package compile

import (
	"slices"

	"github.com/headrace/headrace/internal/batch"
	"github.com/headrace/headrace/op/custom"
	"github.com/headrace/headrace/recipe"
	"github.com/headrace/headrace/recipe/fuse"
	"github.com/headrace/headrace/sample"
	"github.com/headrace/headrace/tensor"
)

// Groups reports whether samples are grouped: by length, shape, class or a list.
func Groups(r recipe.Recipe, p fuse.Plan) bool {
	return p.Batch.Policy() || p.Samples.Batches == nil && !p.Single && r.ImageShapes() != nil
}

// Sizes returns the sizes that a batch may have. Rows is that of one of any samples.
func Sizes(r recipe.Recipe, p fuse.Plan, rows int) (forms []batch.Size, err error) {
	switch {
	case p.Single:
		return nil, nil
	case p.Batch.Lists:
		return []batch.Size{{Rows: p.Batch.Size}}, nil
	case p.Batch.Pack != nil:
		if p.Batch.GlobalSize == 0 {
			rows = p.Batch.Pack.Size
		}
		return []batch.Size{{Rows: rows}}, nil
	case p.Batch.Own != nil:
		rows, classes := p.Batch.Own.(custom.Classifier).Size()
		return slices.Repeat([]batch.Size{{Rows: rows}}, classes), nil
	case p.Batch.Buckets != nil:
		rows, err := p.Batch.Buckets.Rows(p.Schema, rows)
		if err != nil {
			return nil, err
		}
		for i, n := range rows {
			o := batch.Size{Rows: n}
			if len(rows) > 1 || p.Batch.Buckets.Longest {
				for _, f := range p.Schema.Ragged() {
					o.Extents = append(o.Extents, lengthOf(p.Batch.Buckets, i, f.Name))
				}
			} else if by := p.Batch.Buckets.By; by != "" { // which alone is known
				for _, f := range p.Schema.Ragged().Without(by) {
					o.Extents = append(o.Extents, lengthOf(p.Batch.Buckets, i, f.Name))
				}
			}
			forms = append(forms, o)
		}
		return forms, nil
	}

	shapes := r.ImageShapes()
	if shapes == nil || p.Samples.Batches != nil {
		return []batch.Size{{Rows: rows}}, nil
	}

	i := imageIn(p.Schema)
	for _, s := range shapes {
		o := batch.Size{Rows: rows}
		for k, n := range p.Schema[i].Type.Shape {
			if n == tensor.Unknown {
				o.Extents = append(o.Extents, s[k])
			}
		}
		forms = append(forms, o)
	}
	return forms, nil
}

// lengthOf returns the most that a field is padded to in a batch of a bucket.
func lengthOf(b *recipe.Buckets, bucket int, field string) int {
	if b.By != "" && b.By != field {
		return slices.Max(b.Lengths)
	}
	return b.Lengths[bucket]
}

// imageIn finds the images of a schema: those that differ in size, if some do.
func imageIn(s sample.Schema) int {
	if i := slices.IndexFunc(s, func(f sample.Field) bool { return f.Type.Axes != "" && !f.Type.Fixed() }); i >= 0 {
		return i
	}
	return slices.IndexFunc(s, func(f sample.Field) bool { return f.Type.Axes != "" })
}

// MostBatches bounds the batches that n samples come into: full ones of the smallest
// kind, and one of each kind that is not full.
func MostBatches(l *batch.Layout, p fuse.Plan, n int64) int64 {
	full := l.Full()
	fewest, kinds := int64(slices.Min(full)), int64(len(full))
	if p.Batch.DropsLast() { // of a pack, a row has one sample, at least
		return n / fewest
	}
	return min(n, n/fewest+kinds)
}
