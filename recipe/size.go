package recipe

import (
	"errors"
	"slices"

	"github.com/headrace/headrace/internal/argument"
	"github.com/headrace/headrace/internal/jsonschema"
)

// Size is a size in pixels; in JSON a number, or [height, width].
type Size struct {
	Height int
	Width  int // 0: only one number was given
}

// Takes implements [Taker].
func (s *Size) Takes() string { return "a whole number, or [height, width]" }

// JSONSchema implements [Schemer].
func (Size) JSONSchema() map[string]any {
	return jsonschema.OneOrList("integer", map[string]any{"minimum": 1}, 2)
}

// IsZero reports whether there is no size.
func (s Size) IsZero() bool { return s == Size{} }

// Both returns height and width, where one number means both.
func (s Size) Both() (height, width int) {
	if s.Width == 0 {
		return s.Height, s.Height
	}
	return s.Height, s.Width
}

// Square is the one form of a size of which one number means both.
func (s Size) Square() Size {
	if s.Width == s.Height {
		s.Width = 0
	}
	return s
}

// MarshalJSON writes a number or a list of two.
func (s Size) MarshalJSON() ([]byte, error) {
	if s.Width == 0 {
		return argument.MarshalNumbers(s.Height), nil
	}
	return argument.MarshalNumbers(s.Height, s.Width), nil
}

var errSize = errors.New("recipe: must be a whole number, or [height, width]")

// UnmarshalJSON reads what MarshalJSON wrote. Numbers below 1 are refused here: zero has
// another meaning in a Size.
func (s *Size) UnmarshalJSON(b []byte) error {
	n, err := argument.UnmarshalNumbers[int](b, s.Takes(), 2)
	if err != nil || slices.Min(n) < 1 {
		return errSize
	}
	*s = Size{Height: n[0]}
	if len(n) == 2 {
		s.Width = n[1]
	}
	return nil
}
