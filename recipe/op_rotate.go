package recipe

import (
	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/sample"
)

var rotate90Op = NewOp[Rotate90]("rotate90", Between, "Rotate an image by quarter turns.")

// Rotate90 are the arguments of the operation rotate90.
type Rotate90 struct {
	Turns *int `json:"turns,omitempty" default:"1" doc:"quarter turns counter-clockwise, as 'numpy.rot90'; negative ones are clockwise"`

	On
}

// Complete implements [Completer].
func (r Rotate90) Complete() Args {
	r.Turns = new((*r.Turns%4 + 4) % 4)
	return &r
}

// Transform implements [Transform].
func (r *Rotate90) Transform() media.Op { return media.Rotate90{Turns: *r.Turns} }

// Check implements [Args].
func (r *Rotate90) Check(in sample.Schema) (sample.Schema, error) { return CheckTransform(in, r) }

var randomRotate90Op = NewOp[RandomRotate90]("random_rotate90", Between, "Rotate an image by 0, 1, 2 or 3 quarter turns, with equal probability.")

// RandomRotate90 are the arguments of the operation random_rotate90.
type RandomRotate90 struct {
	P *float64 `json:"p,omitempty" min:"0" max:"1" default:"1" doc:"the probability of a rotation, which may be by 0 turns"`

	On
}

// Transform implements [Transform].
func (r *RandomRotate90) Transform() media.Op { return media.RandomRotate90{P: *r.P} }

// Check implements [Args].
func (r *RandomRotate90) Check(in sample.Schema) (sample.Schema, error) { return CheckTransform(in, r) }
