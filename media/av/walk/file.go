package walk

import (
	"fmt"

	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/media/av/heads"
)

// file is a file that is followed.
type file struct {
	heads.File
	light bool // see [Walk.Light]
}

// Damage is a place at which a file is damaged. As an error it is [media.ErrCorrupt].
type Damage struct {
	At     int64 // the byte
	What   string
	Stream int // the only one in which something is missing, by its number in the container; -1: any
}

func damage(at int64, format string, args ...any) *Damage {
	return &Damage{at, fmt.Sprintf(format, args...), -1}
}

// Error implements error.
func (d *Damage) Error() string {
	return fmt.Sprintf("%v: the file is damaged at byte %d: %s", media.ErrCorrupt, d.At, d.What)
}

// Unwrap returns the kind of error.
func (d *Damage) Unwrap() error { return media.ErrCorrupt }
