package shard

import (
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"github.com/headrace/headrace/sample"
	"github.com/headrace/headrace/tensor"
)

// Decimals are whole numbers with a scale. Those of up to 18 digits are in the index as
// numbers, and others in parts, as the bytes of two's complement.

// Reversed is a format whose decimals begin with their lowest byte.
type Reversed interface {
	Format
	Reversed()
}

// scaleOf returns the number of digits that decimals have after the point.
func scaleOf(l *sample.Logical) (scale int, ok bool) {
	if l == nil || !strings.HasPrefix(l.Name, "decimal") {
		return 0, false
	}
	var width, digits int
	_, err := fmt.Sscanf(l.Name, "decimal%d(%d, %d)", &width, &digits, &scale)
	return scale, err == nil
}

// takeDecimal sets the type of a column of decimals: text, the value as a float, or the
// whole number of which the point is left out.
func (k *column) takeDecimal(is sample.Type) error {
	switch said := k.Type; {
	case said.Kind == 0, said.Kind == sample.Text && len(said.Shape) == 0:
		k.Type = sample.TextType.As(is.Logical)
	case isNumber(said) && isFloat(said.DType):
	case isNumber(said) && said.DType != tensor.Bool:
		k.Type = said.As(is.Logical)
	default:
		return k.misfit(is)
	}
	return nil
}

// decimal gives a column a decimal, of which these are the digits without the point.
func (c *column) decimal(p *Place, into *Value, digits string) error {
	if c.Type.Kind == sample.Text {
		into.Bytes = appendDecimal(nil, digits, c.scale)
		return nil
	}
	text := []byte(digits)
	if isFloat(c.Type.DType) {
		text = appendDecimal(nil, digits, c.scale)
	}
	return p.number(into, func(dst []byte) ([]byte, error) {
		if c.Type.DType == tensor.Float32 { // rounded once
			v, err := strconv.ParseFloat(string(text), 32)
			if err != nil {
				return dst, wrongIf(true, digits, c.Type.DType)
			}
			return appendReal(dst, v, tensor.Float32)
		}
		return appendParsed(dst, text, c.Type.DType)
	})
}

// appendDecimal appends digits with the point: "-1230" of scale 2 is "-12.30".
func appendDecimal(dst []byte, digits string, scale int) []byte {
	if rest, ok := strings.CutPrefix(digits, "-"); ok {
		dst, digits = append(dst, '-'), rest
	}
	if scale <= 0 {
		dst = append(dst, digits...)
		if digits != "0" {
			dst = append(dst, strings.Repeat("0", -scale)...)
		}
		return dst
	}
	if missing := scale + 1 - len(digits); missing > 0 {
		digits = strings.Repeat("0", missing) + digits
	}
	at := len(digits) - scale
	return append(append(append(dst, digits[:at]...), '.'), digits[at:]...)
}

// digitsOf returns the digits of a decimal in a part.
func (d *Dataset) digitsOf(b []byte) (string, error) {
	if len(b) == 0 || len(b) > 32 {
		return "", fmt.Errorf("%w: a decimal of %d bytes", ErrCorrupt, len(b))
	}
	if _, ok := d.Format.(Reversed); ok {
		b = slices.Clone(b)
		slices.Reverse(b)
	}
	v := new(big.Int).SetBytes(b)
	if b[0]&0x80 != 0 {
		v.Sub(v, new(big.Int).Lsh(big.NewInt(1), uint(8*len(b))))
	}
	return v.String(), nil
}

// digitsIn returns the digits of a decimal in the index.
func (r *Reader) digitsIn(p *Place, n *numbered) (string, error) {
	if null, err := r.none(p, n); err != nil || null {
		if null {
			err = ErrNoValue
		}
		return "", err
	}
	v, err := p.segment.Int(p.in, n.at)
	return strconv.FormatInt(v, 10), err
}
