package image_test

import (
	"strings"
	"testing"

	"github.com/headrace/headrace/media"
	opimage "github.com/headrace/headrace/op/image"
	"github.com/headrace/headrace/recipe"
)

// What cannot be done is said with the argument that asks for it.
func TestMistakesInStepsThatMovePixels(t *testing.T) {
	for step, want := range map[string]string{
		`{"rotate": {}}`: "lacks the argument angle",
		`{"rotate": {"angle": 5, "interpolation": "nearest"}}`:        "it is called filter",
		`{"rotate": {"angle": 5, "filter": "lanczos"}}`:               "filter",
		`{"rotate": {"angle": 5, "center": [1]}}`:                     "center is [1]: must be two numbers",
		`{"rotate": {"angle": 5, "center": [1, 2, 3]}}`:               "must be two numbers",
		`{"rotate": {"angle": 5, "fill": [1, 2]}}`:                    "fill is [1,2]: must be one number, or 3",
		`{"rotate": {"angle": 5, "fill": 256}}`:                       "fill is 256: must be from 0 to 255",
		`{"random_rotation": {}}`:                                     "lacks the argument degrees",
		`{"random_rotation": {"degrees": [9, 3]}}`:                    "two rising numbers",
		`{"random_rotation": {"degrees": -3}}`:                        "two rising numbers",
		`{"random_rotation": {"degrees": [1, 2, 3]}}`:                 "a number, which is meant both ways, or [least, greatest]",
		`{"random_rotation": {"degrees": "9"}}`:                       "a number, which is meant both ways",
		`{"affine": {"scale": 0}}`:                                    "scale is 0: must be from 0.0001 to 10000",
		`{"affine": {"translate": [1]}}`:                              "translate is [1]: must be two numbers",
		`{"affine": {"shear": [90, 0]}}`:                              "between -90 and 90 degrees",
		`{"random_affine": {"degrees": 9, "translate": [2, 0]}}`:      "shares from 0 to 1",
		`{"random_affine": {"degrees": 9, "translate": [0.1]}}`:       "translate is [0.1]: must be two numbers",
		`{"random_affine": {"degrees": 9, "scale": [0, 0]}}`:          "scale is [0,0]: must be two rising numbers above 0",
		`{"random_affine": {"degrees": 9, "scale": [2, 1]}}`:          "scale is [2,1]: must be two rising numbers above 0",
		`{"random_affine": {"degrees": 9, "shear": [1, 2, 3]}}`:       "or four numbers: along x and along y",
		`{"random_affine": {"degrees": 9, "shear": 95}}`:              "between -90 and 90 degrees",
		`{"perspective": {"start": [[0, 0]], "end": [[0, 0]]}}`:       "four points, each [across, down]",
		`{"perspective": {"start": [[0, 0], [1, 0], [1, 1], [0]]}}`:   "four points, each [across, down]",
		`{"random_perspective": {"distortion_scale": 1.5}}`:           "distortion_scale is 1.5: must be from 0 to 1",
		`{"random_perspective": {"p": 2}}`:                            "p is 2: must be from 0 to 1",
		`{"elastic": {"alpha": -1}}`:                                  "alpha of -1",
		`{"elastic": {"sigma": 101}}`:                                 "sigma of 101: must be from 0 to 100",
		`{"elastic": {"sigma": [1, 2, 3]}}`:                           "a number, or [across, down]",
		`{"random_zoom_out": {"side_range": [0.5, 2]}}`:               "two rising numbers from 1 on",
		`{"random_zoom_out": {"side_range": [2]}}`:                    "side_range is [2]: must be two numbers",
		`{"scale_jitter": {"target_size": 9, "scale_range": [0, 1]}}`: "two rising numbers above 0",
		`{"scale_jitter": {}}`:                                        "lacks the argument target_size",
		`{"random_short_size": {"sizes": []}}`:                        "sizes is empty: give at least one",
		`{"random_short_size": {"sizes": [0]}}`:                       "random_short_size of 0 pixels",
		`{"random_iou_crop": {"min_scale": 0}}`:                       "two rising shares in (0,1]",
		`{"random_iou_crop": {"min_aspect_ratio": 3}}`:                "two rising numbers above 0",
		`{"random_iou_crop": {"sampler_options": []}}`:                "without options",
		`{"random_iou_crop": {"sampler_options": [-1]}}`:              "must be at least 0",
		`{"random_iou_crop": {"trials": 0}}`:                          "trials is 0: must be from 1 to 1000",
		`{"sanitize_boxes": {"min_size": 0.5}}`:                       "min_size is 0.5: must be at least 1",
	} {
		r, err := image(`"decode_image",` + step)
		if err == nil {
			_, err = r.Check()
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, and not that %s", step, err, want)
		}
	}
}

// Arguments come to be the operation that they say.
func TestStepsThatMovePixels(t *testing.T) {
	one, both := [2]float64{-10, 10}, [2]float64{3, 4}
	for step, want := range map[string]media.Op{
		`{"rotate": {"angle": 5, "center": [3, 4], "fill": 7}}`: media.Rotate{Angle: 5, Filter: media.Nearest,
			Center: &both, Fill: [4]uint16{7, 7, 7, 7}},
		`{"random_rotation": {"degrees": 10, "expand": true}}`: media.RandomRotation{Degrees: one, Filter: media.Nearest, Expand: true},
		`{"affine": {"shear": [3, 4], "filter": "bicubic"}}`:   media.Affine{Scale: 1, Shear: both, Filter: media.Bicubic},
		`{"random_affine": {"degrees": 10, "shear": 10}}`: media.RandomAffine{Degrees: one,
			Shear: [2][2]float64{one}, Filter: media.Nearest},
		`{"random_affine": {"degrees": [3, 4], "shear": [3, 4, -10, 10]}}`: media.RandomAffine{Degrees: both,
			Shear: [2][2]float64{both, one}, Filter: media.Nearest},
		`"random_perspective"`: media.RandomPerspective{Distortion: 0.5, P: 0.5},
		`"elastic"`:            media.Elastic{Alpha: [2]float64{50, 50}, Sigma: [2]float64{5, 5}},
		`"random_zoom_out"`:    media.RandomZoomOut{SideRange: [2]float64{1, 4}, P: 0.5},
		`{"scale_jitter": {"target_size": [3, 4]}}`: media.ScaleJitter{Height: 3, Width: 4, Scale: [2]float64{0.1, 2}},
		`"sanitize_boxes"`:                          media.SanitizeBoxes{MinSize: 1, MinArea: 1},
	} {
		r, err := image(`"decode_image",` + step)
		if err != nil {
			t.Fatal(err)
		}
		steps := r.Complete().Steps
		got := steps[len(steps)-1].Args.(recipe.Transform).Transform()
		if g, is := got.(media.Rotate); is {
			if *g.Center != both {
				t.Errorf("about %v", *g.Center)
			}
			g.Center = &both
			got = g
		}
		if got != want {
			t.Errorf("%s: %#v, want %#v", step, got, want)
		}
	}
}

// Only a Go program can have other lists than JSON.
func TestListsOfPrograms(t *testing.T) {
	args := &opimage.Perspective{Start: opimage.Corners{{0, 0}}, End: opimage.Corners{{0, 0}}}
	if _, err := args.Check(nil); err == nil || !strings.Contains(err.Error(), "has no image to work on") {
		t.Error(err)
	}
}
