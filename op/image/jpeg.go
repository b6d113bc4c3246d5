package image

import (
	"github.com/headrace/headrace/internal/argument"
	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/recipe"
	"github.com/headrace/headrace/sample"
)

var _ = Ops.Add(recipe.NewOp[JPEG]("jpeg", recipe.Between,
	"Give an image the faults of a JPEG, as torchvision's 'JPEG'.").
	Explained("", ".jpeg((25, 95))").
	Called("quality").
	Replacing("JPEG(quality)").Telling("quality"))

// JPEG are the arguments of the operation jpeg.
type JPEG struct {
	Quality WholeRange `json:"quality,omitempty" required:"true" example:"[25, 95]"`

	recipe.On
}

// Docs implements [argument.Documented].
func (*JPEG) Docs() map[string]string {
	return map[string]string{
		"quality": "from 1 to 100: one number, or [least, greatest], between which it is drawn evenly for each image",
	}
}

// Transform implements [recipe.Transform].
func (s *JPEG) Transform() media.Op { return media.JPEGArtifacts{Quality: s.Quality.ends()} }

// Check implements [recipe.Args].
func (s *JPEG) Check(in sample.Schema) (sample.Schema, error) {
	var quality error
	if len(s.Quality) > 0 && !s.Quality.rises(1, 100) {
		quality = recipe.Wrong("quality", "is %s: must be from 1 to 100, or two rising numbers of these", argument.Written(s.Quality))
	}
	return recipe.CheckTransform(in, s, quality)
}
