package media

import (
	"math"
	"strings"
)

// Anchor is where an image is in a larger frame, or which part of it stays when it
// is cut. Its zero value is Center.
type Anchor uint8

// The anchors.
const (
	Center Anchor = iota
	TopLeft
	Top
	TopRight
	Left
	Right
	BottomLeft
	Bottom
	BottomRight
)

var anchors = names{"anchor", []string{Center: "center", TopLeft: "top_left", Top: "top", TopRight: "top_right",
	Left: "left", Right: "right",
	BottomLeft: "bottom_left", Bottom: "bottom", BottomRight: "bottom_right"}}

// ParseAnchor returns the anchor of a name.
func ParseAnchor(name string) (Anchor, error) {
	a, err := anchors.parse(name)
	return Anchor(a), err
}

func (a Anchor) String() string { return anchors.text(uint8(a)) }

// MarshalText writes the name that ParseAnchor reads.
func (a Anchor) MarshalText() ([]byte, error) { return []byte(a.String()), a.check("anchor") }

// UnmarshalText reads what MarshalText writes.
func (a *Anchor) UnmarshalText(name []byte) (err error) {
	*a, err = ParseAnchor(string(name))
	return err
}

func (a Anchor) check(op string) error { return anchors.check(op, uint8(a)) }

// shares are how much of what is over is on the left, and above.
func (a Anchor) shares() (x, y float64) {
	share := func(least, most string) float64 {
		switch name := a.String(); {
		case strings.Contains(name, least):
			return 0
		case strings.Contains(name, most):
			return 1
		}
		return 0.5
	}
	return share("left", "right"), share("top", "bottom")
}

// margins are the pixels that are left free on the left and above, in a frame with so
// many to spare. Halves go to the even number, as in Pillow.
func (a Anchor) margins(width, height int) (left, top int) {
	x, y := a.shares()
	return int(math.RoundToEven(float64(width) * x)), int(math.RoundToEven(float64(height) * y))
}
