package progress

// A Range is a half-open range of places of the epoch. A place is a position with the
// number of its source above it, so that the places of two sources never touch.
type Range struct{ Lo, Hi int64 }

func (s Range) positions() int64 { return s.Hi - s.Lo }

const (
	posBits = 48

	// MaxPos is the largest position of a source, and the largest number of an epoch.
	MaxPos = 1<<posBits - 1

	// MaxSources is how many sources a run may have.
	MaxSources = 1 << (63 - posBits)
)

// Place is where a position of a source is.
func Place(source int, pos int64) int64 { return int64(source)<<posBits | pos }

// SourceOf is the number of a place's source.
func SourceOf(place int64) int { return int(place >> posBits) }

// PositionOf is a place's position in its source.
func PositionOf(place int64) int64 { return place & MaxPos }
