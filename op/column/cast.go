package column

import (
	"fmt"
	"strconv"

	"github.com/headrace/headrace/internal/argument"
	"github.com/headrace/headrace/op/core"
	"github.com/headrace/headrace/recipe"
	"github.com/headrace/headrace/sample"
	"github.com/headrace/headrace/tensor"
)

var _ = Ops.Add(recipe.NewOp[Cast]("cast", recipe.Between, "Convert numbers to another dtype.").Explained(`
As NumPy's 'astype': rounded to the nearest float, and towards zero to a whole number; as 'bool', whether it is not 0. A number that
the dtype does not have is a bad sample: 300 as 'uint8', NaN as a whole number, 1e300 as 'float32'.`,
	`.cast("label", "float32")`).Called("fields, dtype"))

// Cast are the arguments of the operation cast.
type Cast struct {
	On
	DType string `json:"dtype,omitempty" python:"a dtype" required:"true" example:"float32"`
}

// Docs implements [argument.Documented].
func (*Cast) Docs() map[string]string {
	return map[string]string{
		"dtype choices": "bool,uint8,int8,uint16,int16,uint32,int32,uint64,int64,float16,bfloat16,float32,float64",
		"dtype":         "the dtype of the result, in Python also 'numpy.int32' and the like",
	}
}

// Check implements [recipe.Args].
func (c *Cast) Check(in sample.Schema) (sample.Schema, error) { return check(c, in, false) }

// CheckRows implements [recipe.OnRows].
func (c *Cast) CheckRows(in sample.Schema) (sample.Schema, error) { return check(c, in, true) }

// Link implements [core.Linker].
func (c *Cast) Link(w *core.Env, name string, t *core.Scope) (core.Part, error) {
	return link(w, name, c, t)
}

func (c *Cast) columns(in sample.Schema, batches bool) ([]Column, error) {
	if err := argument.CheckTags(c); err != nil {
		return nil, err
	}
	d, _ := tensor.ParseDType(c.DType)
	return c.each(in, batches, func(t sample.Type) (made, error) {
		return made{dtype: d, fill: casting(t.DType, d)}, numeric(t)
	})
}

// casting returns what converts numbers.
func casting(of, d tensor.DType) fill {
	switch {
	case of == d:
		return func(to []byte, from []Values) *Bad {
			copy(to, from[0].Data)
			return nil
		}
	case !isFloat(of) && (!isFloat(d) || d == tensor.Float32): // float64 does not have all of them
		return func(to []byte, from []Values) *Bad { return castWhole(to, from[0].Data, of, d) }
	}
	return func(to []byte, from []Values) *Bad {
		return badAt(through(to, from[0].Data, of, d, func([]float64, int) (int, error) { return -1, nil }))
	}
}

// badAt returns an error about the line of a number, unless it is -1.
func badAt(line int, why error) *Bad {
	if line < 0 {
		return nil
	}
	return &Bad{Line: line, Err: why}
}

// castWhole converts whole numbers.
func castWhole(to, from []byte, of, d tensor.DType) *Bad {
	b := buffers.Get().(*buffer)
	defer buffers.Put(b)
	in, out := of.Size(), d.Size()
	for at, n := 0, len(from)/in; at < n; at += atOnce {
		v := b.ints[:min(atOnce, n-at)]
		loadInts(v, from[at*in:], of)
		if bad := storeWhole(to[at*out:], v, of, d); bad >= 0 {
			text := strconv.FormatInt(v[bad], 10)
			if of == tensor.Uint64 {
				text = strconv.FormatUint(uint64(v[bad]), 10)
			}
			return &Bad{Line: at + bad, Err: fmt.Errorf("is %s, which does not fit %v", text, d)}
		}
	}
	return nil
}

// storeWhole sets the first numbers of to. It returns which one the type does not have,
// or -1.
func storeWhole(to []byte, v []int64, of, d tensor.DType) (bad int) {
	switch d {
	case tensor.Bool:
		for i, x := range v {
			if to[i] = 0; x != 0 {
				to[i] = 1
			}
		}
		return -1
	case tensor.Float32:
		dst := numbersOf[float32](to)[:len(v)]
		for i, x := range v {
			if dst[i] = float32(x); of == tensor.Uint64 {
				dst[i] = float32(uint64(x))
			}
		}
		return -1
	}
	// Here a negative number is one, or is above all that signed types have.
	if (of == tensor.Uint64) != (d == tensor.Uint64) {
		for i, x := range v {
			if x < 0 {
				return i
			}
		}
	}

	switch d {
	case tensor.Uint8:
		return narrow[uint8](to, v)
	case tensor.Int8:
		return narrow[int8](to, v)
	case tensor.Uint16:
		return narrow[uint16](to, v)
	case tensor.Int16:
		return narrow[int16](to, v)
	case tensor.Uint32:
		return narrow[uint32](to, v)
	case tensor.Int32:
		return narrow[int32](to, v)
	default: // those of 64 bits
		copy(numbersOf[int64](to), v)
		return -1
	}
}

func narrow[T int8 | uint8 | int16 | uint16 | int32 | uint32](to []byte, v []int64) (bad int) {
	dst, lost := numbersOf[T](to)[:len(v)], int64(0)
	for i, x := range v {
		dst[i] = T(x)
		lost |= x ^ int64(dst[i])
	}
	if lost == 0 {
		return -1
	}
	for i, x := range v {
		if x != int64(dst[i]) {
			return i
		}
	}
	return -1
}
