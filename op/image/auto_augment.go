package image

import (
	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/recipe"
	"github.com/headrace/headrace/sample"
)

var _ = Ops.Add(recipe.NewOp[AutoAugment]("auto_augment", recipe.Between,
	"Carry out one of 25 pairs of changes that were found for a set of images, as torchvision's 'AutoAugment'.").
	Explained("", ".auto_augment()").
	Called("policy, filter, fill").
	Replacing("AutoAugment()").
	Telling("steps"))

// AutoAugment are the arguments of the operation auto_augment.
type AutoAugment struct {
	Policy string `json:"policy,omitempty" choices:"imagenet,cifar10,svhn" default:"imagenet" doc:"the set of images"`
	Filter string `json:"filter,omitempty" choices:"nearest,bilinear,bicubic" default:"nearest" doc:"of rotations, shears and shifts"`
	Fill   Fill   `json:"fill,omitempty" default:"0" doc:"the colour beyond the image: one number, or one per channel"`

	recipe.On
}

// Transform implements [recipe.Transform].
func (s *AutoAugment) Transform() media.Op {
	return media.AutoAugment{Policy: s.Policy, Filter: filter(s.Filter), Fill: s.Fill.color()}
}

// Check implements [recipe.Args].
func (s *AutoAugment) Check(in sample.Schema) (sample.Schema, error) {
	return recipe.CheckTransform(in, s, s.Fill.check(in, s.Images(in)))
}
