package shard

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"math/big"
	"slices"

	"github.com/headrace/headrace/sample"
	"github.com/headrace/headrace/shard/index"
	"github.com/headrace/headrace/shard/where"
	"github.com/headrace/headrace/tensor"
)

// test turns an expression into a test of rows. Of parts that are joined, those that read
// files come last.
func (c *chooser) test(ctx context.Context, e where.Expr) (test, error) {
	switch e := e.(type) {
	case where.And:
		all, err := c.tests(ctx, e)
		return allOf(all), err
	case where.Or:
		all, err := c.tests(ctx, e)
		return anyOf(all), err
	case where.Not:
		of, err := c.test(ctx, e.Of)
		return not{of}, err
	case where.Null:
		return c.null(ctx, e.Column)
	case where.True:
		return c.compared(ctx, e.Column, where.Equal, nil)
	case where.In:
		return c.compared(ctx, e.Column, where.Equal, e.Values)
	case where.Compare:
		return c.compared(ctx, e.Column, e.Op, []where.Value{e.Value})
	}
	return nil, fmt.Errorf("%w: the expression %v", ErrUnsupported, e)
}

func (c *chooser) tests(ctx context.Context, all []where.Expr) (tests []test, err error) {
	for _, e := range all {
		t, err := c.test(ctx, e)
		if err != nil {
			return nil, err
		}
		tests = append(tests, t)
	}
	slices.SortStableFunc(tests, func(a, b test) int {
		rank := map[bool]int{true: 1}
		return rank[a.reads()] - rank[b.reads()]
	})
	return tests, nil
}

// wrong is a mistake at a place of the expression. The text goes on after "rows".
func (c *chooser) wrong(at int, format string, args ...any) error {
	return &where.Error{Text: c.text, At: at, Err: fmt.Errorf(format, args...)}
}

// found finds a column; null: whether it has no value.
func (c *chooser) found(ctx context.Context, n where.Name, null bool) (column, error) {
	of := Column{From: n.Text, IsNull: null}
	if c.d.index.Mixed[n.Text] != "" && c.d.Convertible(n.Text) {
		of = Column{From: n.Text, Type: sample.TensorType(tensor.Float64)} // each shard's is compared as it is
	}
	k, err := c.d.resolve(ctx, c.schema, of)
	if err != nil {
		return k, c.wrong(n.At, "uses %q: %w", n.Text, err)
	}
	return k, nil
}

// null tests whether a column has no value.
func (c *chooser) null(ctx context.Context, n where.Name) (test, error) {
	k, err := c.found(ctx, n, true)
	if err != nil {
		return nil, err
	}
	if k.how == number || k.how == derived {
		return noNumber{c.number(n.Text)}, nil
	}
	reader, at := c.read(k)
	return &valueIs{reader, at, func(v *Value) (bool, error) { return v.Bytes[0] != 0, nil }}, nil
}

// compared tests whether a column is as one of the values; none: whether it is true.
func (c *chooser) compared(ctx context.Context, n where.Name, op where.Op, values []where.Value) (test, error) {
	k, err := c.found(ctx, n, false)
	if err != nil {
		return nil, err
	}
	is := k.Type
	if k.how != nothing {
		if values == nil && !(isNumber(is) && is.DType == tensor.Bool) {
			return nil, c.wrong(n.At, "has %q alone, which is %s: write how it must be, as in %q",
				n.Text, described(is), n.String()+" "+example(is))
		}
		if len(is.Shape) > 0 {
			return nil, c.wrong(n.At, "compares %q, which is %s: only single numbers and text can be compared; %q works",
				n.Text, described(is), n.String()+" is null")
		}
	}
	if values == nil {
		values = []where.Value{{Kind: where.Bool, Bool: true, At: n.At}}
	}
	k.filled, k.null = true, Value{Null: true}

	scale, scaled := scaleOf(is.Logical)
	isNumbers := isNumber(is) || scaled
	var numbers []*big.Rat
	if isNumbers && k.how != nothing {
		for _, v := range values {
			r, err := c.numberOf(n, is, v)
			if err != nil {
				return nil, err
			}
			if numbers = append(numbers, r); scaled {
				r.Mul(r, new(big.Rat).SetInt(new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(scale)), nil)))
			}
		}
	}
	switch {
	case k.how == nothing:
		reader, at := c.read(k)
		return &valueIs{reader, at, nil}, nil // which nobody asks
	case k.how == number || k.how == derived:
		return c.numberIn(n.Text, op, numbers)
	case scaled:
		return c.decimals(k, op, numbers, scale), nil
	case isNumbers:
		set, d := setOf(op, numbers, is.DType), is.DType
		reader, at := c.read(k)
		return &valueIs{reader, at, func(v *Value) (bool, error) { return set.hasValue(v.Bytes, d) }}, nil
	}
	return c.texts(n, k, op, values)
}

// numberOf is a value of the expression as a number of a column's type.
func (c *chooser) numberOf(n where.Name, is sample.Type, v where.Value) (*big.Rat, error) {
	boolean := isNumber(is) && is.DType == tensor.Bool
	switch {
	case v.Kind == where.Number && boolean && !isBit(v.Number):
		return nil, c.wrong(v.At, "compares %q, which is bool, with %s: write true or false", n.Text, v.Text)
	case v.Kind == where.Number:
		return new(big.Rat).Set(v.Number), nil
	case v.Kind == where.Bool && boolean && v.Bool:
		return big.NewRat(1, 1), nil
	case v.Kind == where.Bool && boolean:
		return new(big.Rat), nil
	case v.Kind == where.Text && is.Logical != nil:
		r, err := moment(is.Logical.Name, v.Text)
		if err != nil {
			return nil, c.wrong(v.At, "compares %q, which is %s, with text: %w", n.Text, described(is), err)
		}
		if r != nil {
			return r, nil
		}
	}

	kind := map[where.Kind]string{where.Text: "text", where.Bool: "true or false"}[v.Kind]
	write := "write a number, without quotes"
	if boolean {
		write = "write true or false, without quotes"
	}
	return nil, c.wrong(v.At, "compares %q, which is %s, with %s: %s", n.Text, described(is), kind, write)
}

// isBit reports whether a number is 0 or 1.
func isBit(v *big.Rat) bool { return v.IsInt() && v.Num().BitLen() <= 1 && v.Sign() >= 0 }

func described(is sample.Type) string {
	if is.Logical != nil {
		return is.Logical.String()
	}
	return is.String()
}

func example(is sample.Type) string {
	switch {
	case len(is.Shape) > 0:
		return "is not null"
	case isNumber(is):
		return "> 0"
	}
	return "== 'text'"
}

// number returns the place of a number of the index.
func (c *chooser) number(name string) int {
	if at := slices.Index(c.numbers, name); at >= 0 {
		return at
	}
	c.numbers = append(c.numbers, name)
	return len(c.numbers) - 1
}

// numberIn compares a number of the index, with the dtype that it has in each shard.
func (c *chooser) numberIn(name string, op where.Op, values []*big.Rat) (test, error) {
	t := &numberIn{number: c.number(name), sets: make([]*numberSet, tensor.Float64+1)}
	for shard := range c.d.shards {
		s, err := c.d.segment(shard)
		if err != nil {
			return nil, err
		}
		if at := numberOf(s, name); at.at >= 0 && t.sets[at.compared()] == nil {
			t.sets[at.compared()] = setOf(op, values, at.compared())
		}
	}
	return t, nil
}

// compared returns the dtype for comparisons: that of the file, if it has one.
func (n *numbered) compared() tensor.DType {
	switch {
	case n.real && !isFloat(n.dtype):
		return tensor.Float64
	case !n.real && (isFloat(n.dtype) || !n.dtype.Valid()):
		return tensor.Int64
	}
	return n.dtype
}

// read returns the reader of a column that is not in the index, and its place there.
func (c *chooser) read(k column) (reader, at int) {
	if k.how != field {
		for i, r := range c.readers {
			if have := r.columns[0]; have.how == k.how && have.From == k.From && have.IsNull == k.IsNull {
				return i, 0
			}
		}
	}
	reader = c.fields
	if k.how != field || reader < 0 {
		reader = len(c.readers)
		c.readers = append(c.readers, &Reader{d: c.d, wiring: make([]wiringOf, len(c.d.shards)), reading: Reading{Replaces: c.d.replaces}})
	}
	r := c.readers[reader]
	if k.how == field {
		c.fields = reader
		k.want = len(r.want)
		read := k.Type
		if k.IsNull {
			read = sample.TextType // which anything can be
		}
		r.want = append(r.want, sample.Field{Name: k.From, Type: read})
		r.reading.As = append(r.reading.As, k.as)
		r.reading.Nullable = append(r.reading.Nullable, true)
	}

	if k.how == asIs && text(k.Type) {
		k.Type = sample.BytesType // of which nobody checks that they are UTF-8
	}
	r.columns = append(r.columns, k)
	return reader, len(r.columns) - 1
}

// decimals compares decimals of more digits than the index has room for.
func (c *chooser) decimals(k column, op where.Op, values []*big.Rat, scale int) test {
	reader, at := c.read(k)
	return &valueIs{reader, at, func(v *Value) (bool, error) {
		r, ok := new(big.Rat).SetString(string(v.Bytes))
		if !ok {
			return false, fmt.Errorf("%w: %q is not a decimal", ErrCorrupt, v.Bytes)
		}
		r.Mul(r, new(big.Rat).SetInt(new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(scale)), nil)))
		return slices.ContainsFunc(values, func(than *big.Rat) bool { return is(op, r.Cmp(than)) }), nil
	}}
}

// texts compares text.
func (c *chooser) texts(n where.Name, k column, op where.Op, values []where.Value) (test, error) {
	if !text(k.Type) {
		return nil, c.wrong(n.At, "compares %q, which is %s: only numbers and text can be compared", n.Text, described(k.Type))
	}
	for _, v := range values {
		if v.Kind != where.Text {
			return nil, c.wrong(v.At, "compares %q, which is %s, with %s: write text in quotes, '%s'", n.Text, described(k.Type), v, v)
		}
	}

	hasBounds := k.how == asIs && len(k.parts) == 1
	reader, at := c.read(k)
	t := &textIs{valueIs: valueIs{reader: reader, column: at}, op: op}
	all := map[string]struct{}{}
	for _, v := range values {
		t.values = append(t.values, v.Text)
		all[v.Text] = struct{}{}
	}
	slices.Sort(t.values)
	if hasBounds {
		t.bounds = &textBounds{c: c, column: n.Text, shards: make([]shardBounds, len(c.d.shards))}
	}
	if t.is = func(v *Value) (bool, error) { _, ok := all[string(v.Bytes)]; return ok, nil }; len(values) == 1 {
		than := []byte(values[0].Text)
		t.is = func(v *Value) (bool, error) { return is(op, bytes.Compare(v.Bytes, than)), nil }
	}
	return t, nil
}

// is tells a comparison from the sign of a difference.
func is(op where.Op, sign int) bool {
	switch op {
	case where.Equal:
		return sign == 0
	case where.Unequal:
		return sign != 0
	case where.Less:
		return sign < 0
	case where.AtMost:
		return sign <= 0
	case where.More:
		return sign > 0
	}
	return sign >= 0
}

// hasValue tells whether a number that was read is in the set.
func (s *numberSet) hasValue(b []byte, d tensor.DType) (bool, error) {
	if len(b) != d.Size() {
		return false, fmt.Errorf("%w: %d bytes as %v", index.ErrDamaged, len(b), d)
	}

	switch e := binary.NativeEndian; d {
	case tensor.Float64:
		return s.hasReal(math.Float64frombits(e.Uint64(b))), nil
	case tensor.Float32:
		return s.hasReal(float64(math.Float32frombits(e.Uint32(b)))), nil
	case tensor.Float16:
		return s.hasReal(float64(tensor.FromFloat16(e.Uint16(b)))), nil
	case tensor.Int64, tensor.Uint64:
		return s.hasInt(int64(e.Uint64(b))), nil
	case tensor.Int32:
		return s.hasInt(int64(int32(e.Uint32(b)))), nil
	case tensor.Uint32:
		return s.hasInt(int64(e.Uint32(b))), nil
	case tensor.Int16:
		return s.hasInt(int64(int16(e.Uint16(b)))), nil
	case tensor.Uint16:
		return s.hasInt(int64(e.Uint16(b))), nil
	case tensor.Int8:
		return s.hasInt(int64(int8(b[0]))), nil
	case tensor.Uint8, tensor.Bool:
		return s.hasInt(int64(b[0])), nil
	}
	return false, fmt.Errorf("%w: comparing %v", ErrUnsupported, d)
}
