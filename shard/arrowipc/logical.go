package arrowipc

import (
	"fmt"
	"strings"

	"github.com/headrace/headrace/sample"
)

var units = [...]string{"s", "ms", "us", "ns"}

// logical returns the meaning of values of a type, as pyarrow writes it; "": themselves.
func logical(kind int, t table) string {
	unit := func(missing int16) string { return units[t.int16(0, missing)&3] }
	switch kind {
	case typeDate:
		if t.int16(0, 1) == 0 {
			return "date32[day]"
		}
		return "date64[ms]"
	case typeTime:
		return fmt.Sprintf("time%d[%s]", t.int32(1, 32), unit(1))
	case typeTimestamp:
		return Timestamp(unit(0), t.text(1))
	case typeDuration:
		return fmt.Sprintf("duration[%s]", unit(1))
	case typeDecimal:
		return fmt.Sprintf("decimal%d(%d, %d)", t.int32(2, 128), t.int32(0, 0), t.int32(1, 0))
	}
	return ""
}

// Timestamp is like "timestamp[us, tz=UTC]"; without a time zone, "timestamp[us]".
func Timestamp(unit, zone string) string {
	zone = strings.ToValidUTF8(zone, "\uFFFD")
	if zone == "" {
		return fmt.Sprintf("timestamp[%s]", unit)
	}
	return fmt.Sprintf("timestamp[%s, tz=%s]", unit, zone)
}

// MostDigits are those of a decimal that an int64 always has room for.
const MostDigits = 18

// typeOf returns a type with the meaning of a field's values.
func (f *field) typeOf(t sample.Type) sample.Type {
	if f.logical != "" {
		t.Logical = &sample.Logical{Name: f.logical}
	}
	return t
}
