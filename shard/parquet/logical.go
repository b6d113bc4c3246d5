package parquet

import (
	"encoding/binary"
	"fmt"
	"math"
	"strings"

	"github.com/headrace/headrace/sample"
	"github.com/headrace/headrace/shard/arrowipc"
	"github.com/headrace/headrace/tensor"
)

// logicalOf returns the meaning of a leaf's values, as pyarrow writes it; "": themselves.
func logicalOf(e element) string {
	of := func(logical, converted int) bool {
		return e.logical == logical || e.logical == 0 && e.converted == converted
	}
	switch {
	case of(logicalDecimal, convertedDec):
		width := 128
		if e.digits > 38 {
			width = 256
		}
		return fmt.Sprintf("decimal%d(%d, %d)", width, e.digits, e.scale)
	case of(logicalDate, convertedDate):
		return "date32[day]"
	case of(logicalTime, convertedTimeMs) && (e.unit == "ms" || e.unit == ""):
		return "time32[ms]"
	case of(logicalTime, convertedTimeUs):
		return fmt.Sprintf("time64[%s]", or(e.unit, "us"))
	case of(logicalStamp, convertedMs):
		return arrowipc.Timestamp(or(e.unit, "ms"), zoneOf(e))
	case of(logicalStamp, convertedUs):
		return arrowipc.Timestamp(or(e.unit, "us"), "")
	case e.kind == typeInt96:
		return "timestamp[ns]"
	}
	return ""
}

func or(unit, usual string) string {
	if unit == "" {
		return usual
	}
	return unit
}

func zoneOf(e element) string {
	if e.utc {
		return "UTC"
	}
	return ""
}

// take takes the facts of the schema of Arrow.
func (c *column) take(said arrowipc.Said) {
	c.fixed, c.tensor = said.Lists, said.Tensor
	if c.refused == "" {
		c.refused = said.Refused
	}
	c.dictionary = said.Dictionary && c.meaning == asText && !c.list
	switch {
	case strings.HasPrefix(said.Logical, "duration") && c.isPlainInt64():
		c.logical = said.Logical
	case said.Zone != "" && strings.HasSuffix(c.logical, "tz=UTC]"):
		unit, _, _ := strings.Cut(strings.TrimPrefix(c.logical, "timestamp["), ",")
		c.logical = arrowipc.Timestamp(unit, said.Zone)
	}
}

// isPlainInt64 tells columns of which Parquet says no more than that they are int64.
func (c *column) isPlainInt64() bool {
	return c.logical == "" && c.meaning == asInt && c.dtype == tensor.Int64
}

// typeOf returns a type with the meaning of a column's values.
func (c *column) typeOf(t sample.Type) sample.Type {
	if c.logical != "" {
		t.Logical = &sample.Logical{Name: c.logical}
	}
	return t
}

// decimal understands decimals. Those that an int64 has room for are numbers, and others
// stay the bytes that they are.
func (c *column) decimal(e element) {
	most := map[int]int{typeInt32: 9, typeInt64: 18, typeFixed: 76, typeBytes: 76}[e.kind]
	switch {
	case e.digits < 1 || e.digits > most || e.scale < 0 || e.scale > e.digits,
		e.kind == typeFixed && (e.length < 1 || e.length > 32):
		c.refused = fmt.Sprintf("its type, %s, is not valid", c.logical)
	case e.digits <= arrowipc.MostDigits:
		c.meaning = asInt
	default:
		c.meaning = asDecimal
	}
}

// decodeWide decodes whole numbers that are stored as bytes: decimals, the highest byte
// first, and timestamps of 96 bits.
func (r *chunkReader) decodeWide(dst *values, encoding int, b []byte, n int) error {
	if encoding != encodingPlain && !(encoding == encodingSplit && r.c.kind != typeBytes) {
		return r.unsupported(encoding)
	}
	size := r.c.width()
	if r.c.kind != typeBytes && len(b)/size < n {
		return r.endsEarly(len(b)/size, n)
	}
	each := len(b) / max(size, 1)
	var room [32]byte
	for i := range n {
		v := room[:size]
		switch {
		case r.c.kind == typeBytes:
			if len(b) < 4 || int64(little32(b)) > int64(len(b)-4) {
				return r.endsEarly(i, n)
			}
			v, b = b[4:][:little32(b)], b[4+little32(b):]
		case encoding == encodingSplit:
			for k := range v {
				v[k] = b[k*each+i]
			}
		default:
			v = b[i*size:][:size]
		}

		number, ok := bigEndian(v)
		if r.c.kind == typeInt96 {
			if number, ok = nanoseconds(v); !ok {
				r.c.refused = fmt.Sprintf("row %d of a page has a timestamp outside of the years 1678 to 2261, "+
					"which int64 has no room for as nanoseconds: write timestamp[us]", i)
				return nil
			}
		}
		if !ok {
			return r.wrong("value %d of a page has more digits than %s", i, r.c.logical)
		}
		dst.ints = append(dst.ints, number)
	}
	return nil
}

// bigEndian is a number in two's complement, if an int64 has room for it.
func bigEndian(b []byte) (v int64, ok bool) {
	if len(b) == 0 {
		return 0, false
	}
	v = int64(int8(b[0]))
	for _, c := range b[1:] {
		if v > math.MaxInt64>>8 || v < math.MinInt64>>8 {
			return 0, false
		}
		v = v<<8 | int64(c)
	}
	return v, true
}

// nanoseconds returns those since 1970 of a timestamp of 96 bits: nanoseconds of a day,
// and the day as astronomers count.
func nanoseconds(b []byte) (int64, bool) {
	const unix, day int64 = 2440588, 24 * 60 * 60 * 1e9
	within := int64(binary.LittleEndian.Uint64(b))
	days := int64(int32(binary.LittleEndian.Uint32(b[8:]))) - unix
	whole := days * day
	switch {
	case within < 0, within > day, days < math.MinInt64/day, days > math.MaxInt64/day, whole > math.MaxInt64-within:
		return 0, false
	}
	return whole + within, true
}
