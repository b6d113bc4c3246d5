package image

import (
	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/recipe"
	"github.com/headrace/headrace/sample"
)

var _ = Ops.Add(recipe.NewOp[RandomChannelPermutation]("random_channel_permutation", recipe.Between,
	"Have red, green and blue change places at random, as torchvision's 'RandomChannelPermutation'.").
	Replacing("RandomChannelPermutation()").Telling("order"))

// RandomChannelPermutation has no arguments but those of the operation
// random_channel_permutation.
type RandomChannelPermutation struct{ recipe.On }

// Transform implements [recipe.Transform].
func (s *RandomChannelPermutation) Transform() media.Op { return media.RandomChannelPermutation{} }

// Check implements [recipe.Args].
func (s *RandomChannelPermutation) Check(in sample.Schema) (sample.Schema, error) {
	return recipe.CheckTransform(in, s)
}
