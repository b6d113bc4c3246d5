package column

import (
	"errors"
	"fmt"
	"math"

	"github.com/headrace/headrace/internal/argument"
	"github.com/headrace/headrace/op/core"
	"github.com/headrace/headrace/recipe"
	"github.com/headrace/headrace/sample"
	"github.com/headrace/headrace/tensor"
)

var _ = Ops.Add(recipe.NewOp[Clip]("clip", recipe.Between, "Limit numbers to a range.").Explained(`
The dtype stays, and so does NaN, as with NumPy's 'clip'.`,
	`.clip("age", 0, 100)`).Called("fields, min, max"))

// Clip are the arguments of the operation clip.
type Clip struct {
	On
	Min *float64 `json:"min,omitempty" example:"0" doc:"what smaller numbers become; by default they stay"`
	Max *float64 `json:"max,omitempty" example:"100" doc:"what greater numbers become; by default they stay"`
}

// Check implements [recipe.Args].
func (c *Clip) Check(in sample.Schema) (sample.Schema, error) { return check(c, in, false) }

// CheckRows implements [recipe.OnRows].
func (c *Clip) CheckRows(in sample.Schema) (sample.Schema, error) { return check(c, in, true) }

// Link implements [core.Linker].
func (c *Clip) Link(w *core.Env, name string, t *core.Scope) (core.Part, error) {
	return link(w, name, c, t)
}

func (c *Clip) columns(in sample.Schema, batches bool) ([]Column, error) {
	if err := argument.CheckTags(c); err != nil {
		return nil, err
	}

	low, high := math.Inf(-1), math.Inf(1)
	if c.Min != nil {
		low = *c.Min
	}
	if c.Max != nil {
		high = *c.Max
	}
	switch {
	case c.Min == nil && c.Max == nil:
		return nil, errors.New("lacks min and max: give at least one of them")
	case low != low || high != high:
		return nil, errors.New("has NaN as min or max: must be numbers")
	case low > high:
		return nil, recipe.Wrong("min", "is %s: must be at most max, which is %s", written(low), written(high))
	}

	return c.each(in, batches, func(t sample.Type) (made, error) {
		if err := numeric(t); err != nil {
			return made{}, err
		}
		for _, v := range []float64{low, high} {
			if !isFloat(t.DType) && v != math.Trunc(v) {
				return made{}, fmt.Errorf("has whole numbers, and %s is none: round it, or put cast before this step", written(v))
			}
		}
		fill, err := clipping(t.DType, low, high)
		return made{dtype: t.DType, fill: fill}, err
	})
}

// clipping returns the function that limits numbers. Limits beyond those of the type are
// none.
func clipping(d tensor.DType, low, high float64) (fill, error) {
	switch d {
	case tensor.Uint8:
		return clipWhole[uint8](low, high, 0, 1<<8-1)
	case tensor.Int8:
		return clipWhole[int8](low, high, -1<<7, 1<<7-1)
	case tensor.Uint16:
		return clipWhole[uint16](low, high, 0, 1<<16-1)
	case tensor.Int16:
		return clipWhole[int16](low, high, -1<<15, 1<<15-1)
	case tensor.Uint32:
		return clipWhole[uint32](low, high, 0, 1<<32-1)
	case tensor.Int32:
		return clipWhole[int32](low, high, -1<<31, 1<<31-1)
	case tensor.Uint64:
		return clipWhole[uint64](low, high, 0, 1<<64-1)
	case tensor.Int64:
		return clipWhole[int64](low, high, -1<<63, 1<<63-1)
	case tensor.Float32:
		return clipNumbers(float32(low), float32(high)), nil
	case tensor.Float64:
		return clipNumbers(low, high), nil
	case tensor.Bool:
		return nil, errors.New("has no numbers to limit")
	}

	// Go has no halves, so they are limited as float64.
	do := func(v []float64, _ int) (int, error) {
		for i, x := range v {
			v[i] = min(max(x, low), high)
		}
		return -1, nil
	}
	return func(to []byte, from []Values) *Bad { return badAt(through(to, from[0].Data, d, d, do)) }, nil
}

// clipWhole returns the function that limits whole numbers of a type that has those from
// least to most.
func clipWhole[T number](low, high float64, least, most T) (fill, error) {
	if low > float64(most) || high < float64(least) {
		return nil, fmt.Errorf("has no number from %s to %s: its dtype has those from %v to %v", written(low), written(high), least, most)
	}
	in := func(v float64) T {
		switch {
		case v <= float64(least):
			return least
		case v >= float64(most):
			return most
		}
		return T(v)
	}
	return clipNumbers(in(low), in(high)), nil
}

func clipNumbers[T number](low, high T) fill {
	return func(to []byte, from []Values) *Bad {
		src := numbersOf[T](from[0].Data)
		dst := numbersOf[T](to)[:len(src)]
		for i, x := range src {
			dst[i] = min(max(x, low), high)
		}
		return nil
	}
}
