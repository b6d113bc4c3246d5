package column

import (
	"errors"
	"fmt"

	"github.com/headrace/headrace/internal/argument"
	"github.com/headrace/headrace/op/core"
	"github.com/headrace/headrace/recipe"
	"github.com/headrace/headrace/sample"
	"github.com/headrace/headrace/tensor"
)

var _ = Ops.Add(recipe.NewOp[Bucketize]("bucketize", recipe.Between,
	"Replace numbers by that of their bucket, int64: how many of the boundaries are below.").Explained(`
Buckets are those of 'torch.bucketize': n boundaries make the buckets 0 to n. With quantiles of your training data as boundaries,
equally many samples are in each. NaN is a bad sample: put 'fill_nan' before it.`,
	`.bucketize("age", [18, 25, 35, 50, 65])`).Called("fields, boundaries"))

// Bucketize are the arguments of the operation bucketize.
type Bucketize struct {
	On
	Boundaries []float64 `json:"boundaries,omitempty" required:"true" example:"[18, 25, 35, 50, 65]" doc:"rising numbers"`
	Right      bool      `json:"right,omitempty"`
}

// Docs implements [argument.Documented].
func (*Bucketize) Docs() map[string]string {
	return map[string]string{
		"right": "whether a number that is a boundary is in the bucket above it, as in NumPy's 'digitize'; by default it is in " +
			"the one below, as in pandas' 'cut'",
	}
}

// Check implements [recipe.Args].
func (b *Bucketize) Check(in sample.Schema) (sample.Schema, error) { return check(b, in, false) }

// CheckRows implements [recipe.OnRows].
func (b *Bucketize) CheckRows(in sample.Schema) (sample.Schema, error) { return check(b, in, true) }

// Link implements [core.Linker].
func (b *Bucketize) Link(w *core.Env, name string, t *core.Scope) (core.Part, error) {
	return link(w, name, b, t)
}

func (b *Bucketize) columns(in sample.Schema, batches bool) ([]Column, error) {
	if err := argument.CheckTags(b); err != nil {
		return nil, err
	}
	if len(b.Boundaries) == 0 {
		return nil, recipe.Wrong("boundaries", "is empty: give at least one number")
	}
	for i, v := range b.Boundaries {
		switch {
		case v-v != 0:
			return nil, recipe.Wrong(fmt.Sprintf("boundaries[%d]", i), "is %v: must be a number", v)
		case i > 0 && !(v > b.Boundaries[i-1]):
			return nil, recipe.Wrong(fmt.Sprintf("boundaries[%d]", i), "is %s, after %s: must rise", written(v), written(b.Boundaries[i-1]))
		}
	}
	return b.each(in, batches, func(t sample.Type) (made, error) {
		return made{dtype: tensor.Int64, fill: bucketing(t.DType, b.Boundaries, b.Right)}, numeric(t)
	})
}

func bucketing(d tensor.DType, boundaries []float64, right bool) fill {
	return func(to []byte, from []Values) *Bad {
		dst, data := numbersOf[int64](to), from[0].Data
		b := buffers.Get().(*buffer)
		defer buffers.Put(b)
		for at, n := 0, len(data)/d.Size(); at < n; at += atOnce {
			v := b.floats[:min(atOnce, n-at)]
			load(v, data[at*d.Size():], d)
			for i, x := range v {
				if x != x {
					return &Bad{Line: at + i, Err: errors.New("is NaN, which is in no bucket: put fill_nan before bucketize")}
				}
				dst[at+i] = int64(bucket(boundaries, x, right))
			}
		}
		return nil
	}
}

// bucket returns the number of boundaries below a number, or, from the right, of those at
// most as great.
func bucket(boundaries []float64, x float64, right bool) (n int) {
	for left := len(boundaries); left > 0; {
		half := (left + 1) / 2
		if edge := boundaries[n+half-1]; edge < x || right && edge == x {
			n += half
			left -= half
		} else {
			left = half - 1
		}
	}
	return n
}
