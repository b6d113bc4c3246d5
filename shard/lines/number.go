package lines

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/headrace/headrace/sample"
	"github.com/headrace/headrace/shard"
	"github.com/headrace/headrace/shard/index"
	"github.com/headrace/headrace/tensor"
)

// appendNumber appends a number, or a boolean, whose text is given.
func appendNumber(dst []byte, d tensor.DType, text []byte) ([]byte, error) {
	s := string(text)
	switch s {
	case "true", "True", "TRUE":
		s = "1"
	case "false", "False", "FALSE":
		s = "0"
	}

	switch d {
	case tensor.Float64, tensor.Float32, tensor.Float16, tensor.BFloat16:
		bits := 64
		if d == tensor.Float32 {
			bits = 32 // rounded once
		}
		v, err := strconv.ParseFloat(s, bits)
		if errors.Is(err, strconv.ErrRange) || err == nil && d.Overflows(v) {
			return dst, fmt.Errorf("%.40q %w %v", text, errTooLarge, d)
		}
		if err != nil {
			return dst, fmt.Errorf("%.40q is not a number", text)
		}
		if v != v {
			v = index.Missing
		}
		switch d {
		case tensor.Float16:
			return binary.LittleEndian.AppendUint16(dst, tensor.ToFloat16(v)), nil
		case tensor.BFloat16:
			return binary.LittleEndian.AppendUint16(dst, tensor.ToBFloat16(v)), nil
		case tensor.Float32:
			return binary.LittleEndian.AppendUint32(dst, math.Float32bits(float32(v))), nil
		}
		return binary.LittleEndian.AppendUint64(dst, math.Float64bits(v)), nil
	case tensor.Bool:
		if s != "0" && s != "1" {
			return dst, fmt.Errorf("%.40q is not a boolean", text)
		}
		return append(dst, s[0]-'0'), nil
	case tensor.Uint8, tensor.Uint16, tensor.Uint32, tensor.Uint64:
		v, err := strconv.ParseUint(s, 10, d.Size()*8)
		if err != nil {
			return dst, notThat(d, text)
		}
		return appendLow(dst, v, d.Size()), nil
	case tensor.Int8, tensor.Int16, tensor.Int32, tensor.Int64:
		v, err := strconv.ParseInt(s, 10, d.Size()*8)
		if err != nil {
			return dst, notThat(d, text)
		}
		return appendLow(dst, uint64(v), d.Size()), nil
	}
	return dst, fmt.Errorf("numbers cannot be read as %v", d)
}

var errTooLarge = errors.New("is too large for")

func notThat(d tensor.DType, text []byte) error {
	is := "str"
	if _, err := strconv.ParseFloat(string(text), 64); err == nil {
		is = "float64"
	}
	return fmt.Errorf("%.40q is not valid as %v; give the field's type in fields, such as %s", text, d, is)
}

func appendLow(dst []byte, v uint64, size int) []byte {
	for range size {
		dst = append(dst, byte(v))
		v >>= 8
	}
	return dst
}

// missing appends the value of a field that is null or not there, which only floats have.
func missing(dst []byte, t sample.Type) ([]byte, error) {
	if t.Kind == sample.Tensor && len(t.Shape) == 0 {
		return appendMissing(dst, t.DType)
	}
	return dst, fmt.Errorf("%w, and %v needs one", shard.ErrNoValue, t)
}

func isFloat(t sample.Type) bool {
	return t.Kind == sample.Tensor && len(t.Shape) == 0 && strings.Contains(t.DType.String(), "float")
}

// appendMissing appends NaN.
func appendMissing(dst []byte, d tensor.DType) ([]byte, error) {
	switch d {
	case tensor.Float16, tensor.BFloat16, tensor.Float32, tensor.Float64:
		return appendNumber(dst, d, []byte("NaN"))
	}
	return dst, fmt.Errorf("%w, and %v needs one", shard.ErrNoValue, d)
}
