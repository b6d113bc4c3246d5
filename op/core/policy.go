package core

import "errors"

// OnError is the policy for a sample that fails.
type OnError string

// Raise stops the run with the sample's error. Skip drops the sample, counts it, and goes
// on while the losses stay within MaxErrors. Replace puts another sample of the same
// source in its place, drawn by the recipe's seed and the identity of the one that
// failed, within MaxErrors too: batches stay full, and all ranks yield as many.
const (
	Raise   OnError = "raise"
	Skip    OnError = "skip"
	Replace OnError = "replace"
)

// ErrConfig marks a configuration with which a recipe cannot be run.
var ErrConfig = errors.New("headrace: configuration does not fit")
