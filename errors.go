package headrace

import (
	"errors"

	"github.com/headrace/headrace/internal/source"
	"github.com/headrace/headrace/op/core"
)

// Errors that say whose mistake it was.
var (
	ErrConfig = core.ErrConfig   // the recipe cannot be run in this way
	ErrSource = source.ErrSource // the data cannot be listed

	ErrSampler = source.ErrSampler // a sampler gives what is no order of samples, in some epoch

	// ErrUncalled is what Open returns with [Options.Look] where a function of Python
	// does not say what it gives: calling it would tell.
	ErrUncalled = errors.New("headrace: a function has no gives, and is not called to find out")

	// ErrTooManyLost marks the failure that was one more than MaxErrors allows.
	ErrTooManyLost = errors.New("headrace: too many samples lost")

	// ErrShort marks an epoch that came to its end before it had the batches that
	// StepsPerEpoch promises.
	ErrShort = errors.New("headrace: the epoch is too short")
)
