package shard

import (
	"errors"
	"fmt"
)

// What is wrong with a shard. Errors of formats wrap one of these.
var (
	ErrCorrupt     = errors.New("damaged")
	ErrTruncated   = errors.New("cut off")
	ErrUnsupported = errors.New("not supported")
	ErrNoField     = errors.New("no such field")
	ErrNoValue     = errors.New("no value (null)")
	ErrChanged     = errors.New("changed")
	ErrClosed      = errors.New("shard: the set is closed")
)

// Error says where in which shard something is wrong.
type Error struct {
	Shard string
	At    int64 // offset in bytes; -1: none in particular
	Err   error
}

// Error is like `train-0007.tar at byte 10240: cut off: …`.
func (e *Error) Error() string {
	if e.At < 0 {
		return fmt.Sprintf("%s: %v", e.Shard, e.Err)
	}
	return fmt.Sprintf("%s at byte %d: %v", e.Shard, e.At, e.Err)
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Wrong returns an [*Error] of a kind, one of those above.
func Wrong(f File, at int64, kind error, format string, args ...any) error {
	return &Error{Shard: f.Name(), At: at, Err: fmt.Errorf("%w: %s", kind, fmt.Sprintf(format, args...))}
}
