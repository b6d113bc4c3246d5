package ops

import (
	"errors"

	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/op/core"
)

// planned says of an error of a plan which step it is about: what is wrong before any of
// them is the decoder's.
func (p *ImageSteps) planned(err error) error {
	if of := (*media.StepError)(nil); errors.As(err, &of) {
		return &core.StepError{Step: p.Names[p.Steps.Steps[of.Step].ID], Err: err}
	}
	return p.decoded(err)
}

// decoded says of an error that decoding has failed.
func (p *ImageSteps) decoded(err error) error {
	if err == nil || p.Decoder == "" {
		return err
	}
	return &core.StepError{Step: p.Decoder, Err: err}
}
