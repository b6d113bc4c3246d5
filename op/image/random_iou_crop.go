package image

import (
	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/recipe"
	"github.com/headrace/headrace/sample"
)

var _ = Ops.Add(recipe.NewOp[RandomIoUCrop]("random_iou_crop", recipe.Between,
	"Crop a random part of an image that overlaps with one of its boxes, as torchvision's 'RandomIoUCrop'.").Explained(`
Boxes are those of 'boxes' before it, of which those whose centre is outside of the part are dropped. An image without
boxes stays as it is. Of several 'fields' the image that has boxes is decoded first, and the others get the same part.`,
	`.boxes(along="labels")`,
	`.random_zoom_out()`,
	`.random_iou_crop()`,
	`.resize((300, 300))`).
	Replacing("RandomIoUCrop()").Telling("x", "y", "width", "height"))

// RandomIoUCrop are the arguments of the operation random_iou_crop.
type RandomIoUCrop struct {
	MinScale       *float64  `json:"min_scale,omitempty" default:"0.3" doc:"least share of each side"`
	MaxScale       *float64  `json:"max_scale,omitempty" default:"1" doc:"greatest share of each side"`
	MinAspectRatio *float64  `json:"min_aspect_ratio,omitempty" default:"0.5" doc:"least ratio of width to height"`
	MaxAspectRatio *float64  `json:"max_aspect_ratio,omitempty" default:"2" doc:"greatest ratio of width to height"`
	SamplerOptions []float64 `json:"sampler_options,omitzero" example:"[0, 0.5, 1]"`
	Trials         *int      `json:"trials,omitempty" min:"1" max:"1000" default:"40" doc:"how many parts are tried for each option"`

	recipe.On
}

// Docs implements [argument.Documented].
func (*RandomIoUCrop) Docs() map[string]string {
	return map[string]string{
		"sampler_options": "the overlaps, intersection over union, of which one is drawn that some box has at least; with 1 the image " +
			"stays as it is. By default [0, 0.1, 0.3, 0.5, 0.7, 0.9, 1]",
	}
}

// Complete implements [recipe.Completer].
func (c RandomIoUCrop) Complete() recipe.Args {
	if c.SamplerOptions == nil {
		c.SamplerOptions = []float64{0, 0.1, 0.3, 0.5, 0.7, 0.9, 1}
	}
	return &c
}

// Transform implements [recipe.Transform].
func (c *RandomIoUCrop) Transform() media.Op {
	return media.RandomIoUCrop{Scale: [2]float64{*c.MinScale, *c.MaxScale}, Aspect: [2]float64{*c.MinAspectRatio, *c.MaxAspectRatio},
		Options: c.SamplerOptions, Trials: *c.Trials}
}

// Check implements [recipe.Args].
func (c *RandomIoUCrop) Check(in sample.Schema) (sample.Schema, error) {
	return recipe.CheckTransform(in, c)
}

var _ = Ops.Add(recipe.NewOp[SanitizeBoxes]("sanitize_boxes", recipe.Between,
	"Drop boxes that are small or partly beyond the image, as torchvision's 'SanitizeBoundingBoxes'.").Explained(`
Boxes are those of 'boxes' before it; fields 'along' lose the same rows. Steps that move boxes drop those of less than a
pixel anyway, and cut others at the edge: without such a step in between, a box beyond the edge is dropped here.`,
	`.boxes(along="labels")`,
	`.random_resized_crop(512)`,
	`.sanitize_boxes(min_size=8, min_area=100)`).
	Called("min_size, min_area").
	Replacing("SanitizeBoundingBoxes(min_size, min_area)"))

// SanitizeBoxes are the arguments of the operation sanitize_boxes.
type SanitizeBoxes struct {
	MinSize *float64 `json:"min_size,omitempty" min:"1" default:"1" doc:"least width and height, in pixels"`
	MinArea *float64 `json:"min_area,omitempty" min:"1" default:"1" doc:"pixels that a box has at least"`

	recipe.On
}

// Transform implements [recipe.Transform].
func (s *SanitizeBoxes) Transform() media.Op {
	return media.SanitizeBoxes{MinSize: *s.MinSize, MinArea: *s.MinArea}
}

// Check implements [recipe.Args].
func (s *SanitizeBoxes) Check(in sample.Schema) (sample.Schema, error) {
	return recipe.CheckTransform(in, s)
}
