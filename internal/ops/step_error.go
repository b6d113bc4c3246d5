package ops

import (
	"errors"

	"github.com/headrace/headrace/media"
)

// A StepError is the failure of one step of several that a stage carries out.
type StepError struct {
	Step string
	Err  error
}

// Error adds nothing: who reports the error says where it was.
func (e *StepError) Error() string { return e.Err.Error() }

// Unwrap returns the reason.
func (e *StepError) Unwrap() error { return e.Err }

// planned says of an error of a plan which step it is about: what is wrong before any of
// them is the decoder's.
func (p *ImageSteps) planned(err error) error {
	if of := (*media.StepError)(nil); errors.As(err, &of) {
		return &StepError{p.Names[p.Steps.Steps[of.Step].ID], err}
	}
	return p.decoded(err)
}

// decoded says of an error that decoding has failed.
func (p *ImageSteps) decoded(err error) error {
	if err == nil || p.Decoder == "" {
		return err
	}
	return &StepError{p.Decoder, err}
}
