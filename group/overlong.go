package group

import (
	"fmt"

	"github.com/headrace/headrace/pipe"
)

// Overlong says what becomes of a sample that is longer than fits anywhere.
type Overlong uint8

const (
	Fail     Overlong = iota // it fails, with a [LengthError], and the policy for failures decides
	Truncate                 // it counts as the longest that fits, and whoever writes it cuts off its end
	Drop                     // it is left out
)

var overlongs = [...]string{"error", "truncate", "drop"}

func (o Overlong) String() string {
	if int(o) >= len(overlongs) {
		return fmt.Sprintf("overlong(%d)", uint8(o))
	}
	return overlongs[o]
}

// LengthError is the failure of a sample that is too long.
type LengthError struct{ Length, Limit int }

func (e *LengthError) Error() string {
	return fmt.Sprintf("group: its length is %d: must be at most %d", e.Length, e.Limit)
}

// Fit returns the length that a sample counts with.
func (o Overlong) Fit(length, limit int) (int, error) {
	switch {
	case length < 0:
		return 0, fmt.Errorf("group: its length is %d: must be at least 0", length)
	case length <= limit:
		return length, nil
	case o == Truncate:
		return limit, nil
	case o == Drop:
		return 0, pipe.Skip
	default:
		return 0, &LengthError{Length: length, Limit: limit}
	}
}

func (o Overlong) check() error {
	if int(o) >= len(overlongs) {
		return fmt.Errorf("group: %v: must be Fail, Truncate or Drop", o)
	}
	return nil
}
