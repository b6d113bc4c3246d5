package shard

import (
	"fmt"
	"math/big"
	"strings"
	"time"
)

// moment is a date or a time that was written as text, in the unit of a type: days of
// date32[day], microseconds since 1970 of timestamp[us]. It is nil of a type that is
// neither. Of a timestamp with a time zone, text without one is UTC.
func moment(logical, text string) (*big.Rat, error) {
	kind, unit, _ := strings.Cut(strings.TrimSuffix(logical, "]"), "[")
	unit, zone, _ := strings.Cut(unit, ", tz=")
	each := map[string]time.Duration{"s": time.Second, "ms": time.Millisecond, "us": time.Microsecond, "ns": 1, "day": 24 * time.Hour}[unit]

	switch kind {
	case "time32", "time64":
		t, ok := timeOf(text, clocks, "")
		if !ok {
			return nil, fmt.Errorf("write a time, '09:30' or '09:30:00.5', not %q", text)
		}
		return in(each, int64(t.Hour()*3600+t.Minute()*60+t.Second()), t.Nanosecond()), nil
	case "timestamp", "date32", "date64":
		t, ok := timeOf(text, dates, "")
		if ok {
			return in(each, t.Unix(), t.Nanosecond()), nil
		}
		t, ok = timeOf(text, dates, "Z07:00")
		switch {
		case !ok:
			return nil, fmt.Errorf("write a date, '2026-11-29' or '2026-11-29 09:30:00', not %q", text)
		case zone == "":
			return nil, fmt.Errorf("%q has a time zone, and the column has none: leave it out", text)
		}
		return in(each, t.Unix(), t.Nanosecond()), nil
	}
	return nil, nil
}

// Forms of dates and of times of a day. Seconds may have a fraction.
var (
	dates  = []string{"2006-01-02", "2006-01-02 15:04", "2006-01-02 15:04:05", "2006-01-02T15:04", "2006-01-02T15:04:05"}
	clocks = []string{"15:04", "15:04:05"}
)

// timeOf reads text of one of these forms, with something after it.
func timeOf(text string, layouts []string, after string) (t time.Time, ok bool) {
	for _, l := range layouts {
		if t, err := time.Parse(l+after, text); err == nil {
			return t, true
		}
	}
	return t, false
}

// in is a time as a number of units.
func in(each time.Duration, seconds int64, nanoseconds int) *big.Rat {
	ns := new(big.Int).Mul(big.NewInt(seconds), big.NewInt(int64(time.Second)))
	ns.Add(ns, big.NewInt(int64(nanoseconds)))
	return new(big.Rat).SetFrac(ns, big.NewInt(int64(each)))
}
