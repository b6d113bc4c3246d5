package image_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/headrace/headrace/media"
	_ "github.com/headrace/headrace/op"
	opimage "github.com/headrace/headrace/op/image"
	"github.com/headrace/headrace/op/input"
	"github.com/headrace/headrace/recipe"
)

// image reads a recipe with these steps between its source and its end.
func image(steps string) (recipe.Recipe, error) {
	return recipe.Parse(fmt.Appendf(nil, `{"headrace": 1, "steps": [{"files": {"pattern": "data"}}, %s]}`, steps))
}

func TestWhatBecomesOfImages(t *testing.T) {
	for steps, want := range map[string]string{
		`{"decode_image":{"color":"rgba"}}`:                  "uint8 [?, ?, 4]",
		`{"decode_image":{"color":"gray","dtype":"uint16"}}`: "uint16 [?, ?, 1]",
		`{"decode_image":{"background":[255,0,9],"mode":"fast","frame":0}},
			{"random_crop":{"size":[5,7]}}`: "uint8 [5, 7, 3]",
		`"decode_image",{"pad":{"padding":3}}`:                                                                "uint8 [?, ?, 3]",
		`"decode_image",{"center_crop":{"size":8}},{"pad":{"padding":3}}`:                                     "uint8 [14, 14, 3]",
		`"decode_image",{"center_crop":{"size":8}},{"pad":{"padding":[1,2],"fill":[1,2,3]}}`:                  "uint8 [12, 10, 3]",
		`"decode_image",{"center_crop":{"size":8}},{"pad":{"padding":[1,2,3,5],"fill":9}}`:                    "uint8 [15, 12, 3]",
		`{"decode_image":{"color":"rgba"}},{"center_crop":{"size":8}},{"pad":{"padding":0,"fill":[1,2,3,4]}}`: "uint8 [8, 8, 4]",
		`"decode_image",{"center_crop":{"size":[8,9]}},"rotate90"`:                                            "uint8 [9, 8, 3]",
		`"decode_image",{"center_crop":{"size":[8,9]}},{"rotate90":{"turns":-2}}`:                             "uint8 [8, 9, 3]",
		`"decode_image",{"center_crop":{"size":[8,9]}},"random_rotate90"`:                                     "uint8 [?, ?, 3]",
		`"decode_image",{"center_crop":{"size":[8,9]}},{"random_rotate90":{"p":0}}`:                           "uint8 [8, 9, 3]",
		`"decode_image",{"center_crop":{"size":9}},"random_rotate90","random_vertical_flip"`:                  "uint8 [9, 9, 3]",
		`"decode_image",{"resize_to_bucket":{"sizes":[[8,9],[9,8]],"filter":"lanczos"}}`:                      "uint8 [?, ?, 3]",
		`"decode_image",{"resize_to_bucket":{"sizes":[[8,9]]}}`:                                               "uint8 [8, 9, 3]",
		`"decode_image",{"color_jitter":{"brightness":0.4,"contrast":[0.5,2],"saturation":0,"hue":0.1}}`:      "uint8 [?, ?, 3]",
		`"decode_image","grayscale"`:                                     "uint8 [?, ?, 1]",
		`"decode_image",{"grayscale":{"channels":3}},"random_grayscale"`: "uint8 [?, ?, 3]",
		`"decode_image",{"normalize":{"mean":0.5,"std":[0.1,0.2,0.3]}}`:  "float32 [?, ?, 3]",
		`"decode_image",{"center_crop":{"size":[8,3]}},{"normalize":{"mean":0,"std":1,"dtype":"bfloat16"}},{"layout":{"layout":"NCHW"}}`:   "bfloat16 [3, 8, 3]",
		`{"decode_image":{"color":"gray"}},{"layout":{"layout":"NCHW"}},{"normalize":{"mean":[0.5,0.5,0.5],"std":0.25,"dtype":"float16"}}`: "float16 [1, ?, ?]",
		// Of this shape nobody could tell which axis is which.
		`"decode_image",{"center_crop":{"size":[3,8]}},{"layout":{"layout":"NCHW"}},{"layout":{"layout":"NHWC"}},"grayscale"`: "uint8 [3, 8, 1]",
	} {
		r, err := image(steps)
		if err != nil {
			t.Errorf("%s: %v", steps, err)
			continue
		}
		schema, err := r.Check()
		if err != nil {
			t.Errorf("%s: %v", steps, err)
			continue
		}
		if got := schema[schema.Find("image")].Type.String(); got != want || schema.Check() != nil {
			t.Errorf("%s gives %s, want %s", steps, got, want)
		}
		text, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		if again, err := recipe.Parse(text); err != nil || !cmp.Equal(again, r) {
			t.Errorf("%s becomes another recipe in its text %s: %v\n%s", steps, text, err, cmp.Diff(r, again))
		}
	}
}

func TestWhatImagesRefuse(t *testing.T) {
	const decode, crop = `"decode_image",`, `{"center_crop":{"size":8}},`
	for _, c := range []struct{ steps, want string }{
		{`{"decode_image":{"color":"grey","dtype":"float32","mode":"exat","frame":3,"background":[0,256,0]}}`,
			`step "decode_image" (#2): mode is "exat": did you mean "exact"? must be "exact" or "fast"
step "decode_image" (#2): color is "grey": did you mean "gray"? must be "rgb", "rgba", "gray" or "mask"
step "decode_image" (#2): dtype is "float32": must be "uint8" or "uint16"
step "decode_image" (#2): frame is 3: only the first frame is decoded: must be 0
step "decode_image" (#2): background is [0,256,0]: must be three numbers from 0 to 255`},
		{`{"decode_image":{"color":"rgba","background":[0,0,0]}}`, `step "decode_image" (#2): background is [0,0,0], but color="rgba" keeps what is transparent`},
		{`{"decode_image":{"max_pixels":0}}`, `step "decode_image" (#2): max_pixels is 0: must be from 1 to 178956970`},
		{`{"decode_image":{"max_pixels":178956971}}`, `step "decode_image" (#2): max_pixels is 178956971: must be from 1 to 178956970`},
		{`{"decode_image":{"background":[0,0]}}`, `step "decode_image" (#2): background is [0,0]: must be a list of 3, each a whole number`},
		{`{"decode_image":{"frames":4,"page":2}}`, `step "decode_image" (#2): frames is not an argument: only the first frame is decoded
step "decode_image" (#2): page is not an argument: only the first frame is decoded`},
		{decode + `{"resize":{"size":8,"filter":"bicubik"}}`, `step "resize" (#3): filter is "bicubik": did you mean "bicubic"? must be "bilinear", "box", "hamming", "bicubic", "lanczos" or "nearest"`},
		{decode + `{"random_resized_crop":{"size":8,"filter":"area"}}`, `step "random_resized_crop" (#3): filter is "area": must be "bilinear", "box", "hamming", "bicubic", "lanczos" or "nearest"`},
		{decode + `"resize_to_bucket"`, `step "resize_to_bucket" (#3): lacks the argument sizes`},
		{decode + `{"resize_to_bucket":{"sizes":[]}}`, `step "resize_to_bucket" (#3): sizes is empty: give at least one [height, width]`},
		{decode + `{"resize_to_bucket":{"sizes":[[1,2],[3]]}}`, `step "resize_to_bucket" (#3): sizes[1] is [3]: must be a whole number, or [height, width]`},
		{`{"route":{"by":"key","branches":[{"steps":["decode_image",{"resize_to_bucket":{"sizes":[[1,2],[2,1]]}}]}]}},{"batch":{"size":4}}`,
			`step "batch" (#5): cannot stack images of different sizes: the field "image" is uint8 [?, ?, 3]; put resize_to_bucket after the merge or route, and not into it`},
		{decode + `{"resize_to_bucket":{"sizes":[[1,2],[2,1]]}},"random_rotate90",{"batch":{"size":4}}`,
			`step "batch" (#5): cannot stack images of different sizes: the field "image" is uint8 [?, ?, 3]; put center_crop, random_resized_crop, resize to [height, width] or resize_to_bucket before it`},
		{decode + `"random_crop"`, `step "random_crop" (#3): lacks the argument size`},
		{decode + `"pad"`, `step "pad" (#3): has neither padding nor size: give one of them`},
		{decode + `{"pad":{"padding":[1,2,3]}}`, `step "pad" (#3): padding is [1,2,3]: must be a whole number, [horizontal, vertical] or [left, top, right, bottom]`},
		{decode + `{"pad":{"padding":[1,-2],"fill":[1,2]}}`, `step "pad" (#3): padding is [1,-2]: must be at least 0
step "pad" (#3): fill is [1,2]: must be one number, or 3, because the image is rgb`},
		{decode + `{"pad":{"padding":1,"fill":256}}`, `step "pad" (#3): fill is 256: must be from 0 to 255, because the image is uint8`},
		{`{"decode_image":{"dtype":"uint16"}},{"pad":{"padding":1,"fill":65536}}`, `step "pad" (#3): fill is 65536: must be from 0 to 65535, because the image is uint16`},
		{decode + `{"pad":{"padding":1,"fill":"red"}}`, `step "pad" (#3): fill is "red": must be a whole number, or one for each channel`},
		{decode + `{"pad":{"padding":1,"fill":[]}}`, `step "pad" (#3): fill is []: must be a whole number, or one for each channel`},
		{decode + `{"pad":{"padding":1,"size":9}}`, `step "pad" (#3): has both padding and size: give one of them`},
		{decode + `{"pad":{"padding":1,"anchor":"top"}}`, `step "pad" (#3): anchor is "top", but there is no size: it is where the image is in that`},
		{decode + `{"pad":{"size":9,"anchor":"middle"}}`, `step "pad" (#3): anchor is "middle": must be "center", "top_left", "top", "top_right", "left", "right", "bottom_left", "bottom" or "bottom_right"`},
		{decode + `{"resize":{"size":[8,9],"fit":"short"}}`, `step "resize" (#3): fit is "short", but size says both height and width`},
		{decode + `{"resize":{"size":[8,9],"max_size":20,"fit":"pad"}}`, `step "resize" (#3): max_size is 20, but size says both height and width`},
		{decode + `{"resize":{"size":8,"max_size":20,"fit":"crop"}}`, `step "resize" (#3): max_size is 20, but fit is "crop": it is about the longer edge, with "short"`},
		{decode + `{"resize":{"size":8,"anchor":"top","fill":3}}`, `step "resize" (#3): anchor is "top", but fit is "short": it is for "pad" and "crop"
step "resize" (#3): fill is 3, but fit is "short": it is for "pad"`},
		{decode + `{"resize":{"size":8,"fit":"crop","fill":3}}`, `step "resize" (#3): fill is 3, but fit is "crop": it is for "pad"`},
		{decode + `{"resize":{"size":8,"fit":"pads"}}`, `step "resize" (#3): fit is "pads": did you mean "pad"? must be "short", "stretch", "pad" or "crop"`},
		{decode + `{"resize":{"size":8,"fit":"pad","fill":[1,2]}}`, `step "resize" (#3): fill is [1,2]: must be one number, or 3, because the image is rgb`},
		{decode + `{"rotate90":{"turns":0.5}}`, `step "rotate90" (#3): turns is 0.5: must be a whole number`},
		{decode + `{"grayscale":{"channels":2}}`, `step "grayscale" (#3): channels is 2: must be 1 or 3`},
		{decode + `{"color_jitter":{"brightness":-1,"contrast":[2,1],"saturation":[-1,1],"hue":0.7}}`,
			`step "color_jitter" (#3): brightness is -1: must be at least 0, or two rising numbers of at least 0
step "color_jitter" (#3): contrast is [2,1]: must be at least 0, or two rising numbers of at least 0
step "color_jitter" (#3): saturation is [-1,1]: must be at least 0, or two rising numbers of at least 0
step "color_jitter" (#3): hue is [-0.7,0.7]: must be from 0 to 0.5, or two rising numbers from -0.5 to 0.5`},
		{decode + `{"color_jitter":{"hue":[0.1,0.2,0.3],"contrast":[1]}}`, `step "color_jitter" (#3): hue is [0.1,0.2,0.3]: must be a number, or [least, greatest]
step "color_jitter" (#3): contrast is [1]: must be a number, or [least, greatest]`},
		{decode + `"normalize"`, `step "normalize" (#3): lacks the argument mean
step "normalize" (#3): lacks the argument std`},
		{decode + `{"normalize":{"mean":0,"std":[1,0,1],"dtype":"float64"}}`, `step "normalize" (#3): dtype is "float64": did you mean "float32"? must be "float32", "float16" or "bfloat16"
step "normalize" (#3): std is [1,0,1]: must be numbers above 0`},
		{decode + `{"normalize":{"mean":[1,2],"std":1}}`, `step "normalize" (#3): mean is [1,2]: must be a number, or [red, green, blue]`},
		{decode + `"layout"`, `step "layout" (#3): lacks the argument layout`},
		{decode + `{"layout":{"layout":"NHCW"}}`, `step "layout" (#3): layout is "NHCW": did you mean "NHWC"? must be "NHWC", "NCHW", "THWC", "TCHW" or "CTHW"`},

		// What may follow what is for package media to say.
		{decode + crop + `{"normalize":{"mean":0,"std":1}},"random_flip"`,
			`step "random_flip" (#5): is not possible: media: impossible geometry: random_flip of float32 [8, 8, 3]: put it before normalize and layout`},
		{decode + `{"center_crop":{"size":[3,3]}},{"layout":{"layout":"NCHW"}},{"random_crop":{"size":2}}`,
			`step "random_crop" (#5): is not possible: media: impossible geometry: random_crop of uint8 [3, 3, 3]: put it before normalize and layout`},
		{`{"decode_image":{"color":"rgba"}},{"normalize":{"mean":0,"std":1}}`,
			`step "normalize" (#3): is not possible: media: unsupported image: normalize of rgba: there is no mean for alpha`},
	} {
		r, err := image(c.steps)
		if err == nil {
			_, err = r.Check()
		}
		if err == nil {
			t.Errorf("%s is accepted", c.steps)
			continue
		}
		if diff := cmp.Diff(strings.Split(c.want, "\n"), strings.Split(strings.ReplaceAll(err.Error(), "recipe: ", ""), "\n")); diff != "" {
			t.Errorf("%s:\n%s", c.steps, diff)
		}
	}
}

// Equal arguments have one form, so that their recipes have one fingerprint.
func TestArgumentsInOneForm(t *testing.T) {
	for _, same := range [][]string{
		{`"rotate90"`, `{"rotate90":{"turns":1}}`, `{"rotate90":{"turns":-7}}`},
		{`{"color_jitter":{"brightness":0.25,"hue":0}}`, `{"color_jitter":{"brightness":[0.75,1.25],"contrast":[1,1]}}`},
		{`{"color_jitter":{"brightness":0.25}}`, `{"color_jitter":{"brightness":0.25,"p":1}}`},
		{`{"color_jitter":{"saturation":3}}`, `{"color_jitter":{"saturation":[0,4]}}`},
		{`{"normalize":{"mean":0.5,"std":1}}`, `{"normalize":{"mean":[0.5,0.5,0.5],"std":[1,1,1],"dtype":"float32"}}`},
		{`{"pad":{"padding":2}}`, `{"pad":{"padding":[2,2,2,2],"fill":0}}`},
		{`{"resize":{"size":5}}`, `{"resize":{"size":5,"fit":"short"}}`},
		{`{"resize":{"size":[5,5]}}`, `{"resize":{"size":5,"fit":"stretch"}}`, `{"resize":{"size":[5,5],"fit":"stretch"}}`},
		{`{"resize":{"size":5,"fit":"pad"}}`, `{"resize":{"size":[5,5],"fit":"pad","anchor":"center","fill":0}}`},
		{`{"pad":{"size":5}}`, `{"pad":{"size":[5,5],"anchor":"center","fill":[0]}}`},
		{`{"resize_to_bucket":{"sizes":[5]}}`, `{"resize_to_bucket":{"sizes":[[5,5]],"filter":"bilinear"}}`},
		{`"grayscale"`, `{"grayscale":{"channels":1}}`},
	} {
		first := ""
		for i, steps := range same {
			r, err := image(`"decode_image",` + steps)
			if err != nil {
				t.Fatal(err)
			}
			if i == 0 {
				first = r.Fingerprint()
			} else if r.Fingerprint() != first {
				t.Errorf("%s and %s have two fingerprints", same[0], steps)
			}
		}
	}
}

func TestTransforms(t *testing.T) {
	for _, c := range []struct {
		args recipe.Transform
		want media.Op
	}{
		{&opimage.ColorJitter{Brightness: opimage.Range{0, 0}, Contrast: opimage.Range{1.5}, Hue: opimage.Range{0.25}},
			media.ColorJitter{Brightness: [2]float64{0, 5e-324}, Contrast: [2]float64{0, 2.5}, Saturation: [2]float64{1, 1}, Hue: [2]float64{-0.25, 0.25}}},
		{&opimage.ColorJitter{P: new(0.0)},
			media.ColorJitter{Brightness: [2]float64{1, 1}, Contrast: [2]float64{1, 1}, Saturation: [2]float64{1, 1}, P: new(0.0)}},
		{&opimage.Pad{Padding: &opimage.Padding{Left: 1, Top: 2, Right: 3, Bottom: 4}, Fill: opimage.Fill{7}},
			media.Pad{Left: 1, Top: 2, Right: 3, Bottom: 4, Fill: [4]uint16{7, 7, 7, 7}}},
		{&opimage.Pad{Padding: &opimage.Padding{}, Fill: opimage.Fill{7, 8, 9}}, media.Pad{Fill: [4]uint16{7, 8, 9}}},
		{&opimage.Pad{Size: recipe.Size{Height: 9}, Anchor: "top", Fill: opimage.Fill{1}}, media.PadTo{Height: 9, Width: 9, Anchor: media.Top, Fill: [4]uint16{1, 1, 1, 1}}},
		{&opimage.Resize{Size: recipe.Size{Height: 5}}, media.Resize{Size: 5}},
		{&opimage.Resize{Size: recipe.Size{Height: 5}, Fit: "stretch"}, media.ResizeExact{Height: 5, Width: 5}},
		{&opimage.Resize{Size: recipe.Size{Height: 5, Width: 6}, Fit: "crop", Anchor: "left"}, media.ResizeCrop{Height: 5, Width: 6, Anchor: media.Left}},
		{&opimage.Resize{Size: recipe.Size{Height: 5}, Fit: "pad", Fill: opimage.Fill{7, 8, 9}}, media.ResizePad{Height: 5, Width: 5, Fill: [4]uint16{7, 8, 9}}},
		{&opimage.ResizeToBucket{Sizes: []recipe.Size{{Height: 5}, {Height: 6, Width: 7}}, Filter: "box"},
			media.ResizeToBucket{Sizes: []media.Size{{Height: 5, Width: 5}, {Height: 6, Width: 7}}, Filter: media.Box}},
	} {
		if diff := cmp.Diff(c.want, c.args.Transform()); diff != "" {
			t.Error(diff)
		}
	}
}

func TestCountsThatOnlyGoProgramsCanWrite(t *testing.T) {
	files, decode := recipe.Step{Args: &input.Files{Pattern: "*"}}, recipe.Step{Args: &opimage.DecodeImage{}}
	two := &opimage.Normalize{Mean: opimage.Channels{1, 2}, Std: opimage.Channels{}}
	_, err := recipe.Recipe{Steps: []recipe.Step{files, decode, {Args: two}}}.Check()
	var mistake *recipe.Error
	if !errors.As(err, &mistake) || !strings.Contains(err.Error(), "mean has 2 numbers: must have 1 or 3") ||
		!strings.Contains(err.Error(), "std has 0 numbers") {
		t.Error(err)
	}
}
