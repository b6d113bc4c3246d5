package recipe

import (
	"headrace/media"
	"headrace/sample"
)

var randomFlipOp = operation[RandomFlip]("random_flip", Between, "Mirrors an image, left and right.")

// RandomFlip are the arguments of the operation random_flip.
type RandomFlip struct {
	P *float64 `json:"p,omitempty" min:"0" max:"1" doc:"the probability; by default 0.5"`
}

func (f RandomFlip) complete() Args {
	f.P = new(orElse(f.P, 0.5))
	return &f
}

// Transform implements [Transform].
func (f *RandomFlip) Transform() media.Op { return media.RandomFlip{P: orElse(f.P, 0.5)} }

// Check implements [Args].
func (f *RandomFlip) Check(in sample.Schema) (sample.Schema, error) {
	return checkTransform(in, f, checkProbability(f.P))
}

var randomVerticalFlipOp = operation[RandomVerticalFlip]("random_vertical_flip", Between, "Mirrors an image, top and bottom.")

// RandomVerticalFlip are the arguments of the operation random_vertical_flip.
type RandomVerticalFlip struct {
	P *float64 `json:"p,omitempty" min:"0" max:"1" doc:"the probability; by default 0.5"`
}

func (f RandomVerticalFlip) complete() Args {
	f.P = new(orElse(f.P, 0.5))
	return &f
}

// Transform implements [Transform].
func (f *RandomVerticalFlip) Transform() media.Op {
	return media.RandomVerticalFlip{P: orElse(f.P, 0.5)}
}

// Check implements [Args].
func (f *RandomVerticalFlip) Check(in sample.Schema) (sample.Schema, error) {
	return checkTransform(in, f, checkProbability(f.P))
}

func checkProbability(p *float64) error {
	if p != nil && !(*p >= 0 && *p <= 1) {
		return Wrong("p", "is %v: takes a probability, from 0 to 1", *p)
	}
	return nil
}
