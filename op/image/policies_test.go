package image_test

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/headrace/headrace/media"
	opimage "github.com/headrace/headrace/op/image"
	"github.com/headrace/headrace/order"
	"github.com/headrace/headrace/recipe"
	"github.com/headrace/headrace/sample"
	"github.com/headrace/headrace/tensor"
)

// What cannot be done is said with the argument that asks for it.
func TestMistakesInPoliciesAndErasing(t *testing.T) {
	for step, want := range map[string]string{
		`{"random_erasing": {"scale": [0.5, 0.1]}}`: "scale is [0.5, 0.1]: must be two rising shares from 0 to 1",
		`{"random_erasing": {"scale": [0, 2]}}`:     "scale is [0, 2]: must be two rising shares from 0 to 1",
		`{"random_erasing": {"ratio": [0, 1]}}`:     "ratio is [0, 1]: must be two rising numbers from 0.001 to 1000",
		`{"random_erasing": {"ratio": [3, 1]}}`:     "ratio is [3, 1]: must be two rising numbers from 0.001 to 1000",
		`{"random_erasing": {"p": 1.5}}`:            "p is 1.5: must be from 0 to 1",
		`{"random_erasing": {"value": "noise"}}`:    "value is",
		`{"random_erasing": {"value": [1, 2]}}`:     "value is",
		`{"random_erasing": {"value": 300}}`:        "value is",
		`{"cutout": {}}`:                            "lacks the argument size",
		`{"cutout": {"size": 0}}`:                   "size is 0: must be at least 1",
		`{"grid_mask": {"size": 1}}`:                "size is 1: must be at least 2, or two rising numbers from 2 on",
		`{"grid_mask": {"size": [9, 4]}}`:           "size is [9,4]: must be at least 2, or two rising numbers from 2 on",
		`{"gaussian_noise": {"sigma": -1}}`:         "sigma is -1",
		`{"jpeg": {"quality": 0}}`:                  "quality is 0: must be from 1 to 100, or two rising numbers of these",
		`{"jpeg": {"quality": [90, 10]}}`:           "quality is [90,10]: must be from 1 to 100, or two rising numbers of these",
		`{"jpeg": {"quality": [1, 2, 3]}}`:          "quality is [1, 2, 3]: must be a whole number, or [least, greatest]",

		`{"random_apply": {"steps": ["files"]}}`:                             "steps[0] is files, which does not work on an image",
		`{"random_apply": {"steps": [{"invert": {}, "name": "x"}]}}`:         "steps[0] is invert with a name or failures of its own",
		`{"random_apply": {"steps": [{"invert": {"field": "image"}}]}}`:      "steps[0] is invert with a field of its own",
		`{"random_apply": {"steps": ["invert", {"posterize": {"bits":9}}]}}`: "steps[1] is posterize: bits is 9: must be from 0 to 8",
		`{"random_apply": {"steps": ["invert"], "p": 2}}`:                    "p is 2: must be from 0 to 1",
		`{"random_apply": {}}`: "lacks the argument steps",
		`{"random_choice": {"steps": ["invert", "equalize"], "p": [1]}}`: "p has 1 numbers for 2 steps",
		`{"random_order": {"steps": ["invert", "normalise"]}}`:           "normalise",

		`{"rand_augment": {"config": "augmix-m5"}}`:         `must begin with "rand", such as "rand-m9-mstd0.5-inc1"`,
		`{"rand_augment": {"config": "rand-m"}}`:            `"m" has no number`,
		`{"rand_augment": {"config": "rand-m9.5"}}`:         `"m9.5" must be m or n and a whole number`,
		`{"rand_augment": {"config": "rand-n9"}}`:           `"n9" must be m or n and a whole number`,
		`{"rand_augment": {"config": "rand-p1.5"}}`:         `"p1.5" must be`,
		`{"rand_augment": {"config": "rand-inc2"}}`:         `"inc2" must be`,
		`{"rand_augment": {"config": "rand-mmax11"}}`:       `"mmax11" must be`,
		`{"rand_augment": {"config": "rand-w0"}}`:           `"w0" must be`,
		`{"rand_augment": {"config": "rand-t3"}}`:           `"t3" must be tweights, t3a or t3aw`,
		`{"rand_augment": {"config": "rand-m9","bins":31}}`: "config says all of num_ops, magnitude and bins: leave these out",
		`{"rand_augment": {"fill": [1, 2]}}`:                "fill is [1,2]: must be one number, or 3",
		`{"trivial_augment": {"fill": 256}}`:                "fill is 256: must be from 0 to 255",
		`{"auto_augment": {"policy": "imagenette"}}`:        `did you mean "imagenet"?`,
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

// timm's text comes to be what timm makes of it.
func TestTextsOfTimm(t *testing.T) {
	usual := media.TimmAugment{Layers: 2, P: 0.5, Magnitude: 10, Most: 10, Filter: media.Nearest}
	for text, change := range map[string]func(*media.TimmAugment){
		"rand":    func(*media.TimmAugment) {},
		"rand-m9": func(o *media.TimmAugment) { o.Magnitude = 9 },
		"rand-m9-mstd0.5-inc1": func(o *media.TimmAugment) {
			o.Magnitude, o.Deviation, o.Increasing = 9, 0.5, true
		},
		"rand-n3-p0.25": func(o *media.TimmAugment) { o.Layers, o.P = 3, 0.25 },
		"rand-mmax7":    func(o *media.TimmAugment) { o.Most = 7 },
		"rand-inc0":     func(*media.TimmAugment) {},
		"rand-m8-t3aw":  func(o *media.TimmAugment) { o.Magnitude, o.Set = 8, "3aw" },
		"rand-tweights": func(o *media.TimmAugment) { o.Set = "weights" },
	} {
		r, err := image(`"decode_image",{"rand_augment": {"config": "` + text + `"}}`)
		if err != nil {
			t.Fatal(err)
		}
		want := usual
		change(&want)
		steps := r.Complete().Steps
		if got := steps[len(steps)-1].Args.(recipe.Transform).Transform(); got != want {
			t.Errorf("%s: %+v, want %+v", text, got, want)
		}
	}
}

// Every step that draws tells of it under the names that its description has, in which
// people read them, and tells each of these at some time.
func TestStepsTellWhatTheySay(t *testing.T) {
	var schema struct {
		Defs map[string]struct {
			Properties map[string]struct{ Examples []json.RawMessage }
		} `json:"$defs"`
	}
	if err := json.Unmarshal(recipe.Schema(nil), &schema); err != nil {
		t.Fatal(err)
	}
	// Besides the examples of arguments.
	arguments := map[string]map[string]string{
		"color_jitter":   {"brightness": "0.2", "contrast": "0.2", "saturation": "0.2", "hue": "0.1", "p": "0.5"},
		"random_affine":  {"translate": "[0.2, 0.2]", "shear": "5"},
		"random_erasing": {"value": `"random"`},
		"cutout":         {"value": `"random"`},
		"jpeg":           {"quality": "[20, 90]"},
	}
	told := 0
	for _, op := range opimage.Ops {
		if _, ofBatches := op.New().(recipe.OnRows); len(op.Told) == 0 || ofBatches || op.Name == "random_iou_crop" { // which needs boxes
			continue
		}
		given := map[string]json.RawMessage{}
		for name, p := range schema.Defs["args."+op.Name].Properties {
			if len(p.Examples) > 0 {
				given[name] = p.Examples[0]
			}
		}
		for name, value := range arguments[op.Name] {
			given[name] = json.RawMessage(value)
		}
		step, err := json.Marshal(map[string]any{op.Name: given})
		if err != nil {
			t.Errorf("%s: %v", op.Name, err)
			continue
		}
		r, err := image(`"decode_image",` + string(step))
		if err != nil {
			t.Errorf("%s: %v", op.Name, err)
			continue
		}
		if _, err := r.Check(); err != nil {
			t.Errorf("%s: %v", op.Name, err)
			continue
		}
		steps := r.Complete().Steps
		one := media.Step{ID: 7, Op: steps[len(steps)-1].Args.(recipe.Transform).Transform()}
		names := tolds(t, one)
		told++
		for _, name := range slices.Sorted(maps.Keys(names)) {
			if !slices.Contains(op.Told, name) {
				t.Errorf("%s tells of %q, and its description of %v", op.Name, name, op.Told)
			}
		}
		for _, name := range op.Told {
			if !names[name] {
				t.Errorf("%s never tells of %q, which its description names", op.Name, name)
			}
		}
	}
	if told < 20 {
		t.Errorf("only %d steps tell of their draws", told)
	}
}

// tolds are the names of what a step tells of its draws, in 50 images.
func tolds(t *testing.T, step media.Step) map[string]bool {
	t.Helper()
	names := map[string]bool{}
	var plan media.Plan
	for seed := range uint64(50) {
		draws := order.NewKey(seed, 0, 1, 2)
		all, err := media.Explain(media.Info{Format: "png", Width: 120, Height: 100}, media.Options{}, []media.Step{step}, draws, &plan)
		if err != nil {
			t.Fatal(err)
		}
		for _, draw := range all {
			for name := range draw.Values {
				names[name] = true
			}
		}
	}
	return names
}

// What batches are mixed of, and what is wrong with others.
func TestMixingNeedsBatchesOfImagesAndLabels(t *testing.T) {
	batch := func(image, label sample.Type) sample.Schema {
		return sample.Schema{{Name: "image", Type: image}, {Name: "label", Type: label}}
	}
	bytes, floats := sample.TensorType(tensor.Uint8, 4, 8, 8, 3), sample.TensorType(tensor.Float32, 4, 3, 8, 8)
	numbers, shares := sample.TensorType(tensor.Int64, 4), sample.TensorType(tensor.Float32, 4, 10)
	for name, c := range map[string]struct {
		in      sample.Schema
		classes int
		want    string // of the error; "": there is none
	}{
		"bytes":          {batch(bytes, numbers), 10, ""},
		"floats":         {batch(floats, numbers), 10, ""},
		"shares":         {batch(floats, shares), 0, ""},
		"no classes":     {batch(bytes, numbers), 0, "needs classes: labels are whole numbers"},
		"other classes":  {batch(bytes, shares), 9, `is 9, but "label" has 10 numbers for each image`},
		"no label":       {sample.Schema{{Name: "image", Type: bytes}}, 10, `is "label": the batches have the fields image`},
		"no image":       {sample.Schema{{Name: "label", Type: numbers}}, 10, `is "image": the batches have the fields label`},
		"text for image": {batch(sample.TextType, numbers), 10, `is "image", which is text: must be images of one size`},
		"other sizes":    {batch(sample.TensorType(tensor.Uint8, 4, -1, 8, 3), numbers), 10, "must be images of one size"},
		"wide images":    {batch(sample.TensorType(tensor.Uint16, 4, 8, 8, 3), numbers), 10, "must be images of one size"},
		"text for label": {batch(bytes, sample.TextType), 10, "must be a whole number for each image"},
		"boxes":          {batch(bytes, sample.TensorType(tensor.Int64, 4, 4)), 10, "must be a whole number for each image"},
	} {
		args := opimage.MixUp{Mixing: opimage.Mixing{Image: "image", Label: "label"}}
		if c.classes > 0 {
			args.Classes = &c.classes
		}
		out, err := args.CheckRows(c.in)
		switch {
		case (err == nil) != (c.want == ""), err != nil && !strings.Contains(err.Error(), c.want):
			t.Errorf("%s: %v, want %q", name, err, c.want)
		case err == nil && out[out.Find("label")].Type.String() != "float32 [4, 10]":
			t.Errorf("%s: labels are %v", name, out[out.Find("label")].Type)
		}
	}
}
