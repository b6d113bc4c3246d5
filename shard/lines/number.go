package lines

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strconv"

	"headrace/sample"
	"headrace/shard/index"
	"headrace/tensor"
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
	case tensor.Float64, tensor.Float32:
		v, err := strconv.ParseFloat(s, d.Size()*8)
		if err != nil && !errors.Is(err, strconv.ErrRange) {
			return dst, fmt.Errorf("%.40q is not a number", text)
		}
		if v != v {
			v = index.Missing
		}
		if d == tensor.Float32 {
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

func notThat(d tensor.DType, text []byte) error {
	return fmt.Errorf("%.40q is not valid as %v; give the field's type, such as float64", text, d)
}

func appendLow(dst []byte, v uint64, size int) []byte {
	for range size {
		dst = append(dst, byte(v))
		v >>= 8
	}
	return dst
}

// missing appends the value of a number that is not there, which only floats have.
func missing(dst []byte, f sample.Field) ([]byte, error) {
	if len(f.Type.Shape) == 0 && (f.Type.DType == tensor.Float64 || f.Type.DType == tensor.Float32) {
		return appendNumber(dst, f.Type.DType, []byte("NaN"))
	}
	return dst, fmt.Errorf("there is no value, and %v needs one", f.Type)
}
