package recipe

import (
	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/sample"
)

var randomFlipOp = NewOp[RandomFlip]("random_flip", Between, "Flip an image left to right at random.")

// RandomFlip are the arguments of the operation random_flip.
type RandomFlip struct {
	P *float64 `json:"p,omitempty" min:"0" max:"1" default:"0.5" doc:"the probability"`

	On
}

// Transform implements [Transform].
func (f *RandomFlip) Transform() media.Op { return media.RandomFlip{P: *f.P} }

// Check implements [Args].
func (f *RandomFlip) Check(in sample.Schema) (sample.Schema, error) { return CheckTransform(in, f) }

var randomVerticalFlipOp = NewOp[RandomVerticalFlip]("random_vertical_flip", Between, "Flip an image top to bottom at random.")

// RandomVerticalFlip are the arguments of the operation random_vertical_flip.
type RandomVerticalFlip struct {
	P *float64 `json:"p,omitempty" min:"0" max:"1" default:"0.5" doc:"the probability"`

	On
}

// Transform implements [Transform].
func (f *RandomVerticalFlip) Transform() media.Op { return media.RandomVerticalFlip{P: *f.P} }

// Check implements [Args].
func (f *RandomVerticalFlip) Check(in sample.Schema) (sample.Schema, error) {
	return CheckTransform(in, f)
}
