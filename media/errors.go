package media

import (
	"errors"
	"fmt"
	"strings"
	"syscall"
)

// What can be wrong with an image. Errors of this package and of decoders wrap exactly
// one of these, or ErrMemory.
var (
	// ErrFormat: the data are of no known format.
	ErrFormat = errors.New("media: unknown image format")
	// ErrTruncated: the data end too early.
	ErrTruncated = errors.New("media: truncated image")
	// ErrCorrupt: the data contradict their format.
	ErrCorrupt = errors.New("media: corrupt image")
	// ErrTooLarge: more than MaxPixels, on the way in or out.
	ErrTooLarge = errors.New("media: image too large")
	// ErrUnsupported: a valid image of a kind that is not decoded.
	ErrUnsupported = errors.New("media: unsupported image")
	// ErrGeometry: the operations cannot be applied to an image of this size, or are
	// wrong in themselves.
	ErrGeometry = errors.New("media: impossible geometry")
)

// ErrMemory: the system has given a decoder or encoder no memory, which is no fault of
// the image. It is ENOMEM for errors.Is, so that nobody skips the image for it.
var ErrMemory = fmt.Errorf("media: %w", syscall.ENOMEM)

// About returns an error about something that is no image, such as "video": its text
// says so, and [errors.Is] sees what it was. Of nil it is nil.
func About(what string, err error) error {
	if err == nil {
		return nil
	}
	text := err.Error()
	for _, kind := range []error{ErrFormat, ErrTruncated, ErrCorrupt, ErrTooLarge, ErrUnsupported} {
		text = strings.ReplaceAll(text, kind.Error(), strings.Replace(kind.Error(), "image", what, 1))
	}
	if text == err.Error() {
		return err
	}
	return &about{text, err}
}

type about struct {
	text string
	err  error
}

func (e *about) Error() string { return e.text }

func (e *about) Unwrap() error { return e.err }

// A StepError is the failure of one of the steps that a plan is made of. It says nothing
// besides.
type StepError struct {
	Step int // its number
	Err  error
}

// Error implements error.
func (e *StepError) Error() string { return e.Err.Error() }

// Unwrap returns the reason.
func (e *StepError) Unwrap() error { return e.Err }
