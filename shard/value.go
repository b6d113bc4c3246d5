package shard

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/headrace/headrace/sample"
	"github.com/headrace/headrace/shard/index"
	"github.com/headrace/headrace/tensor"
)

// memberOf finds a member of an object, or an element of a list, in JSON.
func memberOf(b []byte, path []string) (json.RawMessage, error) {
	at := json.RawMessage(bytes.TrimSpace(b))
	for _, name := range path {
		if len(at) > 0 && at[0] == '[' {
			var all []json.RawMessage
			if err := json.Unmarshal(at, &all); err != nil {
				return nil, fmt.Errorf("%w: %w", ErrCorrupt, err)
			}
			i, err := strconv.Atoi(name)
			if err != nil || i < 0 || i >= len(all) {
				return nil, fmt.Errorf("%w: %q of a list of %d", ErrNoField, name, len(all))
			}
			at = all[i]
			continue
		}
		var all map[string]json.RawMessage
		if err := json.Unmarshal(at, &all); err != nil {
			return nil, fmt.Errorf("%w: %w", ErrCorrupt, err)
		}
		value, ok := all[name]
		if !ok {
			return nil, &noMember{name}
		}
		at = value
	}
	if string(at) == "null" {
		return nil, ErrNoValue
	}
	if len(at) == 0 || !json.Valid(at) {
		return nil, fmt.Errorf("%w: it is not valid JSON", ErrCorrupt)
	}
	return at, nil
}

// noMember is a member that is missing, which is as if it were null.
type noMember struct{ name string }

func (e *noMember) Error() string { return fmt.Sprintf("it has no member %q", e.name) }

func (e *noMember) Unwrap() error { return ErrNoValue }

// plain is the text of a JSON string, or the JSON of anything else.
func plain(value json.RawMessage) ([]byte, error) {
	if value[0] != '"' {
		return value, nil
	}
	var s string
	if err := json.Unmarshal(value, &s); err != nil {
		return nil, err
	}
	if !utf8.Valid(value) {
		return nil, invalid(value[1:])
	}
	// encoding/json replaces what it cannot represent.
	const replaced = "\uFFFD"
	n := strings.Count(s, replaced)
	if n > 0 && n > bytes.Count(value, []byte(replaced))+bytes.Count(bytes.ToLower(value), []byte(`\ufffd`)) {
		return nil, fmt.Errorf("%w: its text has half of a surrogate pair", ErrCorrupt)
	}
	return []byte(s), nil
}

// appendParsed appends the number that a text is.
func appendParsed(dst []byte, text []byte, d tensor.DType) ([]byte, error) {
	s := string(bytes.TrimSpace(text))
	if d == tensor.Bool {
		switch s {
		case "true", "1":
			return append(dst, 1), nil
		case "false", "0":
			return append(dst, 0), nil
		}
	}
	switch d {
	case tensor.Float16, tensor.BFloat16, tensor.Float32, tensor.Float64:
		if v, err := strconv.ParseFloat(s, 64); err == nil {
			return appendReal(dst, v, d)
		}
	case tensor.Uint64:
		if v, err := strconv.ParseUint(s, 10, 64); err == nil {
			return binary.NativeEndian.AppendUint64(dst, v), nil
		}
	default:
		if v, err := strconv.ParseInt(s, 10, 64); err == nil {
			return appendWhole(dst, v, d)
		}
	}
	if len(s) > 40 {
		s = s[:40] + "…"
	}
	return nil, fmt.Errorf("%w: %q is not valid as %v", ErrCorrupt, s, d)
}

// appendBits appends a whole number whose type is another one, given as its bits.
func appendBits(dst []byte, bits int64, of, d tensor.DType) ([]byte, error) {
	switch {
	case of != tensor.Uint64 || bits >= 0:
		return appendWhole(dst, bits, d)
	case d == tensor.Uint64:
		return binary.NativeEndian.AppendUint64(dst, uint64(bits)), nil
	case isFloat(d):
		return appendReal(dst, float64(uint64(bits)), d)
	}
	return nil, wrongIf(true, uint64(bits), d)
}

func isFloat(d tensor.DType) bool {
	switch d {
	case tensor.Float16, tensor.BFloat16, tensor.Float32, tensor.Float64:
		return true
	}
	return false
}

// appendNull appends the value of a number that is not there, which only floats have.
func appendNull(dst []byte, d tensor.DType) ([]byte, error) {
	if isFloat(d) {
		return appendReal(dst, index.Missing, d)
	}
	return nil, needsOne(sample.TensorType(d))
}

// needsOne is the error of a value that is null.
func needsOne(t sample.Type) error {
	return fmt.Errorf("%w, and %v needs one", ErrNoValue, t)
}

// appendWhole appends a whole number as a type that holds it.
func appendWhole(dst []byte, v int64, d tensor.DType) ([]byte, error) {
	fits := true
	switch d {
	case tensor.Int64:
		return binary.NativeEndian.AppendUint64(dst, uint64(v)), nil
	case tensor.Uint64:
		return binary.NativeEndian.AppendUint64(dst, uint64(v)), wrongIf(v < 0, v, d)
	case tensor.Int32:
		return binary.NativeEndian.AppendUint32(dst, uint32(v)), wrongIf(v != int64(int32(v)), v, d)
	case tensor.Uint32:
		return binary.NativeEndian.AppendUint32(dst, uint32(v)), wrongIf(v != int64(uint32(v)), v, d)
	case tensor.Int16:
		return binary.NativeEndian.AppendUint16(dst, uint16(v)), wrongIf(v != int64(int16(v)), v, d)
	case tensor.Uint16:
		return binary.NativeEndian.AppendUint16(dst, uint16(v)), wrongIf(v != int64(uint16(v)), v, d)
	case tensor.Int8:
		fits = v == int64(int8(v))
	case tensor.Uint8:
		fits = v == int64(uint8(v))
	case tensor.Bool:
		fits = v == 0 || v == 1
	default:
		return appendReal(dst, float64(v), d)
	}
	return append(dst, byte(v)), wrongIf(!fits, v, d)
}

func wrongIf(wrong bool, v any, d tensor.DType) error {
	if !wrong {
		return nil
	}
	return fmt.Errorf("%w: %v is not valid as %v", ErrCorrupt, v, d)
}

func appendReal(dst []byte, v float64, d tensor.DType) ([]byte, error) {
	if d.Overflows(v) {
		return nil, wrongIf(true, v, d)
	}
	switch d {
	case tensor.Float64:
		return binary.NativeEndian.AppendUint64(dst, math.Float64bits(v)), nil
	case tensor.Float32:
		return binary.NativeEndian.AppendUint32(dst, math.Float32bits(float32(v))), nil
	case tensor.Float16:
		return binary.NativeEndian.AppendUint16(dst, tensor.ToFloat16(v)), nil
	case tensor.BFloat16:
		return binary.NativeEndian.AppendUint16(dst, tensor.ToBFloat16(v)), nil
	}
	if v != math.Trunc(v) || math.Abs(v) > 1<<53 {
		return nil, wrongIf(true, v, d)
	}
	return appendWhole(dst, int64(v), d)
}
