package machine

import (
	"context"
	"time"
)

// Patiently calls f, and calls it again while it fails because of what the machine
// lacks: descriptors, memory and processes come back. It gives up after some two and a
// half seconds, or when ctx ends, with f's last error.
func Patiently(ctx context.Context, f func() error) error {
	began := time.Now()
	for wait := 20 * time.Millisecond; ; wait *= 2 {
		err := f()
		if BlameOf(err) != BlameMachine || wait > mostPatience || time.Since(began) > 2*mostPatience {
			return Short(err)
		}
		select {
		case <-ctx.Done():
			return Short(err)
		case <-time.After(wait):
		}
	}
}

const mostPatience = 1280 * time.Millisecond
