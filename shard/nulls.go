package shard

import (
	"errors"
	"fmt"
	"slices"

	"github.com/headrace/headrace/sample"
	"github.com/headrace/headrace/shard/index"
	"github.com/headrace/headrace/tensor"
)

// Null is the value of samples that have none: a number, true or false as text, text
// itself, or "[]", an empty list.
type Null struct {
	Text   string
	Quoted bool // it was written as text
}

// nan are the numbers that are written as text, since JSON has none of them.
var nan = []string{"nan", "inf", "-inf"}

// fill sets the value for null, if the column's type has it.
func (k *column) fill(n Null) error {
	t, shape := k.Type, []int(k.Type.Shape)
	wrong := func(why string) error {
		return fmt.Errorf("%w: %q: the value for null is %s: %s", ErrUnsupported, k.From, n, why)
	}
	switch list := !n.Quoted && n.Text == "[]"; {
	case list != (len(shape) > 0):
		return wrong(fmt.Sprintf("%v needs %s", t, map[bool]string{true: "an empty list, []", false: "one value"}[len(shape) > 0]))
	case list && (shape[0] != tensor.Unknown || slices.Contains(shape[1:], tensor.Unknown) && t.Kind == sample.Tensor):
		return wrong(fmt.Sprintf("%v has no empty list", t))
	case list && t.Kind == sample.Tensor:
		k.null = Value{Bytes: []byte{}, Shape: append([]int{0}, shape[1:]...)}
	case list:
		k.null = Value{Bytes: make([]byte, 8)} // as textlist packs no texts
	case t.Kind != sample.Tensor && !n.Quoted:
		return wrong(fmt.Sprintf("%v needs text", t))
	case t.Kind != sample.Tensor:
		k.null = Value{Bytes: []byte(n.Text)}
	case n.Quoted && !(isFloat(t.DType) && slices.Contains(nan, n.Text)):
		return wrong(fmt.Sprintf("%v needs a number", t))
	default:
		b, err := appendParsed(nil, []byte(n.Text), t.DType)
		if err != nil {
			return wrong(fmt.Sprintf("it is not valid as %v", t.DType))
		}
		k.null = Value{Bytes: b, Shape: shape}
	}
	k.filled = true
	return nil
}

func (n Null) String() string {
	if n.Quoted {
		return fmt.Sprintf("%q", n.Text)
	}
	return n.Text
}

// Filling is a value for null of a type, as Python writes it; "": it has none.
func Filling(t sample.Type) string {
	_, decimal := scaleOf(t.Logical)
	switch {
	case len(t.Shape) > 0 && t.Shape[0] == tensor.Unknown:
		return "[]"
	case len(t.Shape) > 0:
		return ""
	case t.Kind != sample.Tensor || decimal:
		return `""`
	case t.DType == tensor.Bool:
		return "False"
	}
	return "0"
}

// needsOne is the error of a value that is null, with what to do about it.
func (k *column) needsOne() error {
	err, fill := needsOne(k.Type), Filling(k.Type)
	if fill == "" {
		return err
	}
	return fmt.Errorf("%w: give the value for null, as in (%q, None, %s)", err, k.From, fill)
}

// nullable tells columns of which a sample may have no part.
func (k *column) nullable() bool {
	nan := isNumber(k.Type) && isFloat(k.Type.DType)
	return k.filled || k.IsNull || k.how == decimal && nan
}

// noPart is the part of a sample that has none.
var noPart = index.Part{Field: -1}

// isNull tells whether a sample has no value of a column.
func (r *Reader) isNull(p *Place, k int, buf []byte) (bool, error) {
	c := &r.columns[k]
	switch c.how {
	case asIs, parsed, decimal, codes:
		return p.chosen[k].Field < 0, nil
	case derived:
		return r.none(p, &p.wires.number[k])
	case field:
		return p.values[k].Null, nil
	case nothing:
		return true, nil
	case member:
		if p.chosen[k].Field < 0 {
			return true, nil
		}
		_, err := c.member(p.of(p.chosen[k], buf))
		if errors.Is(err, ErrNoValue) {
			return true, nil
		}
		return false, err
	}
	return false, nil
}

// none tells whether a sample has none of a number of the index.
func (r *Reader) none(p *Place, n *numbered) (bool, error) {
	switch {
	case n.at < 0:
		return true, nil
	case !n.some:
		return false, nil
	case n.real:
		return p.segment.NoFloat(p.in, n.at)
	}
	return p.segment.None(p.in, n.at)
}

// value gives a column its value, or that for null.
func (r *Reader) value(p *Place, k int, buf []byte) error {
	c, into := &r.columns[k], &p.values[k]
	if c.IsNull {
		null, err := r.isNull(p, k, buf)
		*into = Value{}
		if err != nil {
			return err
		}
		return p.number(into, func(dst []byte) ([]byte, error) {
			if null {
				return append(dst, 1), nil
			}
			return append(dst, 0), nil
		})
	}
	if c.filled && c.how == derived { // a float reads null as NaN
		if null, err := r.none(p, &p.wires.number[k]); null || err != nil {
			*into = c.null
			return err
		}
	}

	err := r.present(p, k, buf)
	switch {
	case !errors.Is(err, ErrNoValue):
		return err
	case c.filled:
		*into = c.null
		return nil
	case isNumber(c.Type) && isFloat(c.Type.DType):
		return p.number(into, func(dst []byte) ([]byte, error) { return appendNull(dst, c.Type.DType) })
	case c.how == number, c.how == derived:
		return c.needsOne()
	}
	return err
}

// Null returns the value of a column that samples without one have: of arrays, that of
// each number.
func (r *Reader) Null(k int) (Value, error) {
	return r.columns[k].valueOfNull()
}

// NullValue returns the value that rows without one have in a column whose type is known,
// as Null of a Reader does.
func (c Column) NullValue() (Value, error) {
	k := column{Column: c}
	if c.Null != nil {
		if err := k.fill(*c.Null); err != nil {
			return Value{}, err
		}
	}
	return k.valueOfNull()
}

func (k *column) valueOfNull() (Value, error) {
	switch {
	case k.filled:
		return k.null, nil
	case k.Type.Kind == sample.Tensor && isFloat(k.Type.DType):
		b, err := appendNull(nil, k.Type.DType)
		return Value{Bytes: b}, err
	}
	return Value{}, k.needsOne()
}
