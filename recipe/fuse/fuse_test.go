package fuse_test

import (
	"testing"

	"headrace/media"
	"headrace/order"
	"headrace/recipe"
	"headrace/recipe/fuse"
	"headrace/sample"

	"github.com/google/go-cmp/cmp"
)

func files() recipe.Step {
	return recipe.Step{Args: &recipe.Files{Pattern: "data", Label: "parent"}}
}

func TestTrainingRecipe(t *testing.T) {
	got := fusing(t, recipe.Recipe{Seed: 7, Steps: []recipe.Step{
		files(),
		{Op: "shuffle"},
		{Op: "decode_image"},
		{Args: &recipe.RandomResizedCrop{Size: recipe.Size{Height: 224}}},
		{Op: "random_flip", Name: "mirror"},
		{Op: "random_flip"},
		{Args: &recipe.Batch{Size: 32}},
	}})
	want := fuse.Plan{
		Source:      "files",
		Sources:     []string{"files", "shuffle"},
		Files:       recipe.Files{Pattern: "data", Label: "parent", MaxBytes: 1 << 30},
		Shuffle:     &recipe.Shuffle{},
		ShuffleSeed: 7,
		Name:        "decode_image+random_resized_crop+mirror+random_flip_2+batch",
		Names:       []string{"decode_image", "random_resized_crop", "mirror", "random_flip_2", "batch"},
		Images: fuse.Images{
			Field: "bytes", To: "image", Decode: media.Options{Orient: true},
			Steps: []media.Step{
				{Op: media.RandomResizedCrop{Height: 224, Width: 224, Scale: [2]float64{0.08, 1}, Ratio: [2]float64{3. / 4, 4. / 3}}, ID: order.OpID("random_resized_crop")},
				{Op: media.RandomFlip{P: 0.5}, ID: order.OpID("mirror")},
				{Op: media.RandomFlip{P: 0.5}, ID: order.OpID("random_flip_2")},
			},
		},
		Batch: recipe.Batch{Size: 32},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestValidationRecipe(t *testing.T) {
	got := fusing(t, recipe.Recipe{Steps: []recipe.Step{
		files(),
		{Args: &recipe.Shuffle{Seed: new(uint64(3))}},
		{Args: &recipe.DecodeImage{To: "pixels", Orient: new(false)}},
		{Args: &recipe.Resize{Size: recipe.Size{Height: 256}, MaxSize: 512}},
		{Args: &recipe.Resize{Size: recipe.Size{Height: 200, Width: 300}}},
		{Args: &recipe.CenterCrop{Size: recipe.Size{Height: 224, Width: 192}}},
		{Args: &recipe.RandomFlip{P: new(0.0)}},
		{Args: &recipe.Batch{GlobalSize: 256, DropLast: true}},
	}})
	want := fuse.Images{To: "pixels", Field: "bytes", Steps: []media.Step{
		{Op: media.Resize{Size: 256, MaxSize: 512}, ID: order.OpID("resize")},
		{Op: media.ResizeExact{Height: 200, Width: 300}, ID: order.OpID("resize_2")},
		{Op: media.CenterCrop{Height: 224, Width: 192}, ID: order.OpID("center_crop")},
		{Op: media.RandomFlip{P: 0}, ID: order.OpID("random_flip")},
	}}
	if diff := cmp.Diff(want, got.Images); diff != "" {
		t.Error(diff)
	}
	if got.ShuffleSeed != 3 || got.Batch != (recipe.Batch{GlobalSize: 256, DropLast: true}) {
		t.Errorf("seed %d, batch %+v", got.ShuffleSeed, got.Batch)
	}
}

// fusing checks the recipe first, as Fuse expects, and that what the geometry gives is what the schema says.
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
	shape := schema[schema.Find(p.Images.To)].Type.Shape
	form, err := media.Results(p.Images.Decode.Form(), p.Images.Steps)
	if err != nil || !form.Shape().Equal(shape) {
		t.Errorf("the steps give %v, %v, the schema says %v", form, err, shape)
	}
	return p
}

// blur is an operation that no engine knows.
type blur struct{}

func (*blur) Check(in sample.Schema) (sample.Schema, error) { return in, nil }

func TestRecipesThatAreNoSingleOperation(t *testing.T) {
	if err := recipe.Register(recipe.Op{Name: "blur", Doc: "Blurs.", New: func() recipe.Args { return new(blur) }}); err != nil {
		t.Fatal(err)
	}
	decode, crop, batch := recipe.Step{Op: "decode_image"}, recipe.Step{Args: &recipe.CenterCrop{Size: recipe.Size{Height: 1}}}, recipe.Step{Args: &recipe.Batch{Size: 1}}
	for _, c := range []struct {
		want  string
		steps []recipe.Step
	}{
		{`recipe: is not complete: it needs a source such as files`, nil},
		{`recipe: is not complete: it needs decode_image, and batch at its end`, []recipe.Step{files()}},
		{`recipe: is not complete: it needs decode_image, and batch at its end`, []recipe.Step{files(), {Op: "shuffle"}}},
		{`recipe: is not complete: it needs batch at its end`, []recipe.Step{files(), decode, crop}},
		{`recipe: step "blur" (#3): is blur, which the engine cannot run yet`, []recipe.Step{files(), decode, {Op: "blur"}, batch}},
		{`recipe: step "shuffle" (#3): does not follow the source directly`, []recipe.Step{files(), decode, {Op: "shuffle"}}},
		{`recipe: step "files_2" (#2): is not the first step`, []recipe.Step{files(), files()}},
		{`recipe: step "decode_image_2" (#3): is not the first step after the source`, []recipe.Step{files(), decode, decode}},
		{`recipe: step "center_crop" (#2): does not stand between decode_image and batch`, []recipe.Step{files(), crop}},
		{`recipe: step "batch" (#2): does not follow decode_image`, []recipe.Step{files(), batch}},
	} {
		if _, err := fuse.Fuse(recipe.Recipe{Steps: c.steps}); err == nil || err.Error() != c.want {
			t.Errorf("got  %v\nwant %s", err, c.want)
		}
	}
}
