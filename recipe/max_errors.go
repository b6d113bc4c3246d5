package recipe

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// MaxErrors bounds the samples lost in an epoch: by Count, or by Rate, a share in (0, 1].
// In JSON a whole number is a count, a number with a decimal point a rate, and null the
// default.
type MaxErrors struct {
	Count int
	Rate  float64
	given bool
}

// ErrorCount bounds the losses of an epoch by their number.
func ErrorCount(n int) MaxErrors { return MaxErrors{Count: n, given: true} }

// ErrorRate bounds the losses of an epoch by their share.
func ErrorRate(r float64) MaxErrors { return MaxErrors{Rate: r, given: true} }

// Given reports whether m is more than the default: 1 %, at least 10.
func (m MaxErrors) Given() bool { return m.given }

// Limit is the number of losses that an epoch of n samples may have.
func (m MaxErrors) Limit(n int64) int {
	switch {
	case !m.given:
		return int(max(10, (n+99)/100))
	case m.Rate != 0:
		return int(m.Rate * float64(n) * (1 + 0x1p-51)) // 0.29 of 100 is 29, though the product of the nearest binary numbers is less
	default:
		return m.Count
	}
}

// Check says what is wrong with the number. The text goes on after the name of what has
// it.
func (m MaxErrors) Check() error {
	switch {
	case m.Count < 0:
		return fmt.Errorf("is %d: must be a number of samples, at least 0", m.Count)
	case !(m.Rate >= 0 && m.Rate <= 1):
		return fmt.Errorf("is %v: a rate must be in (0, 1]", m.Rate)
	}
	return nil
}

var errMaxErrors = errors.New("recipe: must be a whole number of samples or a rate like 0.01")

// Takes implements [Taker].
func (*MaxErrors) Takes() string { return "a whole number of samples or a rate like 0.01" }

// UnmarshalJSON reads a count, a rate or null.
func (m *MaxErrors) UnmarshalJSON(b []byte) error {
	text := string(b)
	switch {
	case text == "null":
		*m = MaxErrors{}
		return nil
	case strings.ContainsAny(text, ".eE"):
		r, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return errMaxErrors
		}
		*m = ErrorRate(r)
	default:
		n, err := strconv.Atoi(text)
		if err != nil {
			return errMaxErrors
		}
		*m = ErrorCount(n)
	}
	return nil
}

// MarshalJSON writes what UnmarshalJSON reads.
func (m MaxErrors) MarshalJSON() ([]byte, error) {
	switch {
	case !m.given:
		return []byte("null"), nil
	case m.Rate != 0:
		text := strconv.FormatFloat(m.Rate, 'g', -1, 64)
		if !strings.ContainsAny(text, ".e") {
			text += ".0"
		}
		return []byte(text), nil
	default:
		return strconv.AppendInt(nil, int64(m.Count), 10), nil
	}
}

// JSONSchema implements [Schemer].
func (MaxErrors) JSONSchema() map[string]any { return map[string]any{"type": "number", "minimum": 0} }
