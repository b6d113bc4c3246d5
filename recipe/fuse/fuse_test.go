package fuse_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/op/flow"
	"github.com/headrace/headrace/op/image"
	"github.com/headrace/headrace/op/input"
	"github.com/headrace/headrace/op/python"
	"github.com/headrace/headrace/op/sound"
	"github.com/headrace/headrace/order"
	"github.com/headrace/headrace/recipe"
	"github.com/headrace/headrace/recipe/fuse"
	"github.com/headrace/headrace/sample"
	"github.com/headrace/headrace/tensor"
)

func files() recipe.Step {
	return recipe.Step{Args: &input.Files{Pattern: "data", Label: "parent"}}
}

func TestTrainingRecipe(t *testing.T) {
	got := fusing(t, recipe.Recipe{Seed: 7, Steps: []recipe.Step{
		files(),
		{Op: "shuffle"},
		{Op: "decode_image"},
		{Args: &image.RandomResizedCrop{Size: recipe.Size{Height: 224}}},
		{Op: "random_flip", Name: "mirror"},
		{Op: "random_flip"},
		{Args: &flow.Batch{Size: 32}},
	}})
	want := fuse.Plan{
		Samples: fuse.Flow{Source: &fuse.Source{
			Name:   "files",
			Names:  []string{"files", "shuffle"},
			Args:   &input.Files{Pattern: "data", Label: "parent", MaxBytes: 1 << 30},
			Orders: []fuse.Order{{Name: "shuffle", Args: &flow.Shuffle{}, Seed: 7}},
		}, Nodes: []fuse.Node{}},
		Schema: sample.Schema{
			{Name: "image", Type: recipe.ImageType(media.Form{Height: 224, Width: 224, DType: tensor.Uint8})},
			{Name: "label", Type: sample.TensorType(tensor.Int64)}, {Name: "key", Type: sample.TextType},
		},
		Last: fuse.Part{Names: []string{"decode_image", "random_resized_crop", "mirror", "random_flip_2", "batch"}, Images: &fuse.Images{
			Field: "bytes", To: "image", Decoder: decoder(), Decode: media.Options{Orient: true}, Form: decoded,
			Steps: []media.Step{
				{Op: media.RandomResizedCrop{Height: 224, Width: 224, Scale: [2]float64{0.08, 1}, Ratio: [2]float64{3. / 4, 4. / 3}}, ID: order.OpID("random_resized_crop")},
				{Op: media.RandomFlip{P: 0.5}, ID: order.OpID("mirror")},
				{Op: media.RandomFlip{P: 0.5}, ID: order.OpID("random_flip_2")},
			},
		}},
		Batch: recipe.Batches{Size: 32},
	}
	want.Rows = want.Schema
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestValidationRecipe(t *testing.T) {
	got := fusing(t, recipe.Recipe{Steps: []recipe.Step{
		files(),
		{Args: &flow.Shuffle{Seed: new(uint64(3))}},
		{Args: &image.DecodeImage{To: "pixels", Orient: new(false)}},
		{Args: &image.Resize{Size: recipe.Size{Height: 256}, MaxSize: 512}},
		{Args: &image.Resize{Size: recipe.Size{Height: 200, Width: 300}}},
		{Args: &image.CenterCrop{Size: recipe.Size{Height: 224, Width: 192}}},
		{Args: &image.RandomFlip{P: new(0.0)}},
		{Args: &flow.Batch{GlobalSize: 256, DropLast: true}},
	}})
	want := &fuse.Images{To: "pixels", Field: "bytes", Form: decoded, Steps: []media.Step{
		{Op: media.Resize{Size: 256, MaxSize: 512}, ID: order.OpID("resize")},
		{Op: media.ResizeExact{Height: 200, Width: 300}, ID: order.OpID("resize_2")},
		{Op: media.CenterCrop{Height: 224, Width: 192}, ID: order.OpID("center_crop")},
		{Op: media.RandomFlip{P: 0}, ID: order.OpID("random_flip")},
	}}
	want.Decoder = got.Last.Images.Decoder // which the test of training compares
	if diff := cmp.Diff(want, got.Last.Images); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(recipe.Batches{GlobalSize: 256, DropLast: true}, got.Batch); diff != "" || got.Samples.Source.Orders[0].Seed != 3 {
		t.Errorf("seed %d, batch %s", got.Samples.Source.Orders[0].Seed, diff)
	}
}

// decoder is decode_image with its defaults.
func decoder() recipe.Decoder {
	r := recipe.Recipe{Steps: []recipe.Step{{Op: "decode_image"}}}.Complete()
	return r.Steps[0].Args.(recipe.Decoder)
}

// decoded is the form of an image after decode_image.
var decoded = media.Form{Height: media.Unknown, Width: media.Unknown, DType: tensor.Uint8}

// fusing checks the recipe first, as Fuse expects, and that what the geometry gives is
// what the schema says.
func fusing(t *testing.T, r recipe.Recipe) fuse.Plan {
	t.Helper()
	schema, err := r.Check()
	if err != nil {
		t.Fatal(err)
	}
	p, err := fuse.Fuse(r)
	if err != nil {
		t.Fatal(err)
	}
	last := p.Last.Images
	shape := schema[schema.Find(last.To)].Type.Shape
	form, err := media.Results(last.Form, last.Steps)
	if err != nil || !form.Shape().Equal(shape) {
		t.Errorf("the steps give %v, %v, the schema says %v", form, err, shape)
	}
	return p
}

// blur is an operation that no engine knows.
type blur struct{}

func (*blur) Check(in sample.Schema) (sample.Schema, error) { return in, nil }

var registerBlur = sync.OnceValue(func() error {
	return recipe.Register(recipe.Op{Name: "blur", Doc: "Blurs.", New: func() recipe.Args { return new(blur) }})
})

// parts shows a plan's parts: images as what they read and write, other steps in
// brackets.
func parts(p fuse.Plan) string {
	var all []string
	for _, part := range p.Parts() {
		text := part.Name()
		switch {
		case part.Step != nil:
			text = "[" + text + "]"
		case part.Images != nil:
			text = fmt.Sprintf("%s(%s>%s %v)", text, part.Images.Field, part.Images.To, part.Images.Form)
		}
		all = append(all, text)
	}
	return strings.Join(all, " ")
}

func TestPartsAndSeparateSteps(t *testing.T) {
	if err := registerBlur(); err != nil {
		t.Fatal(err)
	}
	decode, batch, blurs := recipe.Step{Op: "decode_image"}, recipe.Step{Args: &flow.Batch{Size: 1}}, recipe.Step{Op: "blur"}
	crop, flip := recipe.Step{Args: &image.CenterCrop{Size: recipe.Size{Height: 8, Width: 9}}}, recipe.Step{Op: "random_flip"}
	normalize := recipe.Step{Args: &image.Normalize{Mean: image.Channels{0}, Std: image.Channels{1}}}
	layout := recipe.Step{Args: &image.Layout{Layout: "NCHW"}}
	audio := recipe.Step{Args: &sound.DecodeAudio{Rate: new(16000), Channels: new(1), Duration: new(0.5)}}
	limited := audio
	limited.Failures = &recipe.Failures{TimeLimit: new(2.0)}
	maps := recipe.Step{Args: &python.Map{Python: recipe.Python{Function: "m:f", Fields: []string{"image"}}, Gives: recipe.Gives{Schema: sample.Schema{{Name: "image", Type: sample.TensorType(tensor.Uint8, 8, 9, 3)}}}}}
	for _, c := range []struct {
		steps        []recipe.Step
		fused, split string
	}{
		{[]recipe.Step{files(), decode, crop, flip, batch},
			"decode_image+center_crop+random_flip+batch(bytes>image uint8 [?, ?, 3])",
			"decode_image(bytes>image uint8 [?, ?, 3]) center_crop(>image uint8 [?, ?, 3]) random_flip(>image uint8 [8, 9, 3]) batch"},
		{[]recipe.Step{files(), decode, flip, crop, normalize, layout, batch},
			"decode_image+random_flip+center_crop+normalize+layout+batch(bytes>image uint8 [?, ?, 3])",
			"decode_image(bytes>image uint8 [?, ?, 3]) random_flip(>image uint8 [?, ?, 3]) center_crop(>image uint8 [?, ?, 3]) normalize+layout+batch(>image uint8 [8, 9, 3])"},
		{[]recipe.Step{files(), blurs, decode, flip, blurs, crop, flip, batch},
			"[blur] decode_image+random_flip(bytes>image uint8 [?, ?, 3]) [blur_2] center_crop+random_flip_2+batch(>image uint8 [?, ?, 3])",
			"[blur] decode_image(bytes>image uint8 [?, ?, 3]) random_flip(>image uint8 [?, ?, 3]) [blur_2] center_crop(>image uint8 [?, ?, 3]) random_flip_2(>image uint8 [8, 9, 3]) batch"},
		{[]recipe.Step{files(), decode, crop, maps, batch},
			"decode_image+center_crop(bytes>image uint8 [?, ?, 3]) [map+batch]",
			"decode_image(bytes>image uint8 [?, ?, 3]) center_crop(>image uint8 [?, ?, 3]) [map] batch"},
		{[]recipe.Step{files(), decode, crop, maps, flip, batch},
			"decode_image+center_crop(bytes>image uint8 [?, ?, 3]) [map] random_flip+batch(>image uint8 [8, 9, 3])",
			"decode_image(bytes>image uint8 [?, ?, 3]) center_crop(>image uint8 [?, ?, 3]) [map] random_flip(>image uint8 [8, 9, 3]) batch"},
		{[]recipe.Step{files(), decode, crop, normalize, layout, blurs, batch},
			"decode_image+center_crop+normalize+layout(bytes>image uint8 [?, ?, 3]) [blur] batch",
			"decode_image(bytes>image uint8 [?, ?, 3]) center_crop(>image uint8 [?, ?, 3]) normalize+layout(>image uint8 [8, 9, 3]) [blur] batch"},
		{[]recipe.Step{files(), audio, batch}, "[decode_audio+batch]", "[decode_audio] batch"},
		{[]recipe.Step{files(), limited, batch}, "[decode_audio] batch", "[decode_audio] batch"},
		{[]recipe.Step{files(), audio, {Args: &sound.LogMel{}}, batch}, "[decode_audio] [log_mel] batch", "[decode_audio] [log_mel] batch"},
	} {
		p, err := fuse.Fuse(recipe.Recipe{Steps: c.steps})
		if err != nil {
			t.Errorf("%s: %v", c.fused, err)
			continue
		}
		if got := parts(p); got != c.fused {
			t.Errorf("the parts are %s, want %s", got, c.fused)
		}
		separate, err := fuse.Separate(recipe.Recipe{Steps: c.steps})
		if got := parts(separate); err != nil || got != c.split {
			t.Errorf("%v, separate they are %s, want %s", err, got, c.split)
		}
	}
}

// After a step between them, an image is decoded no more, and what mode it was decoded
// in counts still.
func TestStoredPicturesKeepTheirMode(t *testing.T) {
	if err := registerBlur(); err != nil {
		t.Fatal(err)
	}
	p, err := fuse.Fuse(recipe.Recipe{Steps: []recipe.Step{files(), {Args: &image.DecodeImage{Mode: "fast", Color: "gray", DType: "uint16"}}, {Op: "blur"}, {Args: &image.CenterCrop{Size: recipe.Size{Height: 1}}}, {Args: &flow.Batch{Size: 1}}}})
	if err != nil {
		t.Fatal(err)
	}
	want := media.Options{Mode: media.Fast, Color: media.Gray, DType: tensor.Uint16}
	if diff := cmp.Diff(want, p.Last.Images.Decode); diff != "" {
		t.Error(diff)
	}
}

func TestRecipesThatCannotRun(t *testing.T) {
	if err := registerBlur(); err != nil {
		t.Fatal(err)
	}
	decode, crop, batch := recipe.Step{Op: "decode_image"}, recipe.Step{Args: &image.CenterCrop{Size: recipe.Size{Height: 1}}}, recipe.Step{Args: &flow.Batch{Size: 1}}
	normalize, layout := recipe.Step{Args: &image.Normalize{Mean: image.Channels{0}, Std: image.Channels{1}}}, recipe.Step{Args: &image.Layout{Layout: "NCHW"}}
	for _, c := range []struct {
		want  string
		steps []recipe.Step
	}{
		{`recipe: is not complete: it needs a source such as files`, nil},
		{`recipe: step "center_crop" (#2): has no image to work on`, []recipe.Step{files(), crop}},
		{`recipe: step "layout" (#6): cannot follow "blur": its image is float32 [1, 1, 3] there, and normalize and layout can only be followed by each other; put "blur" before them, or after "layout"`,
			[]recipe.Step{files(), decode, crop, normalize, {Op: "blur"}, layout, batch}},
	} {
		if _, err := fuse.Fuse(recipe.Recipe{Steps: c.steps}); err == nil || err.Error() != c.want {
			t.Errorf("got  %v\nwant %s", err, c.want)
		}
	}
}
