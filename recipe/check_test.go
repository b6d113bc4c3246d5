package recipe_test

import (
	"encoding/json"
	"math"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/headrace/headrace/internal/argument"
	"github.com/headrace/headrace/internal/recipetest"
	"github.com/headrace/headrace/op/flow"
	"github.com/headrace/headrace/op/image"
	"github.com/headrace/headrace/op/input"
	"github.com/headrace/headrace/recipe"
	"github.com/headrace/headrace/sample"
	"github.com/headrace/headrace/tensor"
)

var (
	files  = recipe.Step{Args: &input.Files{Pattern: "data", Label: "parent"}}
	decode = recipe.Step{Op: "decode_image"}
	resize = recipe.Step{Args: &image.Resize{Size: recipe.Size{Height: 256}}}
	crop   = recipe.Step{Args: &image.CenterCrop{Size: recipe.Size{Height: 224}}}
	flip   = recipe.Step{Op: "random_flip"}
	batch  = recipe.Step{Args: &flow.Batch{Size: 32}}
	inTime = recipe.Step{Args: &flow.Batch{Size: 32, MaxWait: new(0.05)}}
)

func steps(s ...recipe.Step) recipe.Recipe { return recipe.Recipe{Steps: s} }

func TestSchemasAlongTheWay(t *testing.T) {
	unlabelled := recipe.Step{Args: &input.Files{Paths: []recipe.Path{"a"}}}
	pairs := recipe.Step{Args: &input.Files{Pairs: []input.Pair{{Path: "a", Label: 1}}}}
	exact := recipe.Step{Args: &image.Resize{Size: recipe.Size{Height: 10, Width: 20}}}
	for _, c := range []struct {
		r    recipe.Recipe
		want string
	}{
		{steps(files), "bytes bytes, label int64, key text"},
		{steps(unlabelled), "bytes bytes, key text"},
		{steps(pairs), "bytes bytes, label int64, key text"},
		{steps(files, recipe.Step{Op: "shuffle"}), "bytes bytes, label int64, key text"},
		{steps(files, decode), "image uint8 [?, ?, 3], label int64, key text"},
		{steps(unlabelled, recipe.Step{Args: &image.DecodeImage{To: "x"}}), "x uint8 [?, ?, 3], key text"},
		{steps(files, decode, resize), "image uint8 [?, ?, 3], label int64, key text"},
		{steps(files, decode, exact), "image uint8 [10, 20, 3], label int64, key text"},
		{steps(files, decode, exact, resize), "image uint8 [256, 512, 3], label int64, key text"},
		{steps(files, decode, resize, crop), "image uint8 [224, 224, 3], label int64, key text"},
		{steps(files, decode, recipe.Step{Args: &image.RandomResizedCrop{Size: recipe.Size{Height: 3, Width: 4}}}, flip), "image uint8 [3, 4, 3], label int64, key text"},
		{steps(files, decode, crop, batch), "image uint8 [224, 224, 3], label int64, key text"},
		{steps(unlabelled, decode, crop, recipe.Step{Args: &flow.Batch{GlobalSize: 7}}), "image uint8 [224, 224, 3], key text"},
	} {
		schema, err := c.r.Check()
		if err != nil {
			t.Errorf("%v: %v", c.r, err)
		} else if got := schema.String(); got != c.want || schema.Check() != nil {
			t.Errorf("%v: %s, want %s", c.r, got, c.want)
		}
	}
}

// Anyone who draws a recipe has the schema of each edge, also where there are mistakes.
func TestSchemas(t *testing.T) {
	wrong := recipe.Step{Args: &image.Resize{Size: recipe.Size{Height: 8}, Filter: "area"}}
	all, err := steps(files, decode, wrong, recipe.Step{Op: "resise"}, crop).Schemas()
	want := []string{"bytes bytes, label int64, key text", "image uint8 [?, ?, 3], label int64, key text", "image uint8 [?, ?, 3], label int64, key text", "", ""}
	var got []string
	for _, s := range all {
		got = append(got, s.String())
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if err == nil || !strings.Contains(err.Error(), "area") || !strings.Contains(err.Error(), "resise") {
		t.Errorf("the mistakes are %v", err)
	}
	if all, err := (recipe.Recipe{}).Schemas(); len(all) != 0 || err == nil {
		t.Errorf("of nothing: %v, %v", all, err)
	}
}

func TestWhatCheckRefuses(t *testing.T) {
	with := func(args recipe.Args) recipe.Step { return recipe.Step{Args: args} }
	for _, c := range []struct {
		r    recipe.Recipe
		want []string
	}{
		{recipe.Recipe{}, []string{`has no steps: it begins with a source such as files`}},

		// files
		{steps(recipe.Step{Op: "files"}), []string{`step "files" (#1): has nothing to read: give pattern, paths or pairs`}},
		{steps(with(&input.Files{Pattern: "a", Paths: []recipe.Path{"b"}})), []string{`step "files" (#1): has more than one of pattern, paths and pairs: give one`}},
		{steps(with(&input.Files{Paths: []recipe.Path{}})), []string{`step "files" (#1): paths is empty: there is nothing to read`}},
		{steps(with(&input.Files{Pairs: []input.Pair{}})), []string{`step "files" (#1): pairs is empty: there is nothing to read`}},
		{steps(with(&input.Files{Paths: []recipe.Path{"a", ""}})), []string{`step "files" (#1): paths[1] is empty`}},
		{steps(with(&input.Files{Pairs: []input.Pair{{Path: "a\x00"}}})), []string{`step "files" (#1): pairs[0] has a path that contains a zero byte`}},
		{steps(with(&input.Files{Pattern: "\x00", Root: "data", Label: "folder", MaxBytes: -1})), []string{
			`step "files" (#1): pattern contains a zero byte`,
			`step "files" (#1): root is "data": must be the absolute path of a folder`,
			`step "files" (#1): label is "folder": it must be "parent", which labels each file with the name of its folder, or left out`,
			`step "files" (#1): max_bytes is -1: must be at least 1`,
		}},
		{steps(with(&input.Files{Pairs: []input.Pair{{Path: "a"}}, Label: "parent"})), []string{`step "files" (#1): label is "parent", but pairs bring labels of their own`}},

		// images
		{steps(files, crop), []string{`step "center_crop" (#2): has no image to work on, only bytes bytes, label int64, key text; put decode_image before it`}},
		{steps(files, decode, recipe.Step{Op: "resize"}), []string{`step "resize" (#3): lacks the argument size`}},
		{steps(files, decode, decode), []string{
			`step "decode_image_2" (#3): field is "bytes": the samples have the fields image, label, key`,
			`step "decode_image_2" (#3): to is "image": the samples have a field of this name already`,
		}},
		{steps(files, with(&image.DecodeImage{Field: "key", To: "label", Mode: "fats"})), []string{
			`step "decode_image" (#2): mode is "fats": did you mean "fast"? must be "exact" or "fast"`,
			`step "decode_image" (#2): field is "key", which is text: must be a field of bytes`,
			`step "decode_image" (#2): to is "label": the samples have a field of this name already`,
		}},
		{steps(files, decode, with(&image.Resize{Size: recipe.Size{Height: 3, Width: 4}, MaxSize: 5})), []string{`step "resize" (#3): max_size is 5, but size says both height and width`}},
		{steps(files, decode, with(&image.Resize{Size: recipe.Size{Height: 300}, MaxSize: 200})), []string{
			`step "resize" (#3): max_size is 200 and size is 300: the longer edge must be allowed more than the shorter one gets; for 300 × 200 pixels write one size, [300, 200]`,
		}},
		{steps(files, decode, with(&image.CenterCrop{Size: recipe.Size{Height: -3}}), with(&image.RandomResizedCrop{Size: recipe.Size{Height: 1 << 40}}), batch), []string{
			`step "center_crop" (#3): is not possible: media: impossible geometry: center_crop to a height of -3 and a width of -3 pixels`,
			`step "random_resized_crop" (#4): is not possible: media: impossible geometry: random_resized_crop to a height of 1099511627776 and a width of 1099511627776 pixels`,
			`step "batch" (#5): cannot stack images of different sizes: the field "image" is uint8 [?, ?, 3]; put center_crop, random_resized_crop, resize to [height, width] or resize_to_bucket before it`,
		}},
		{steps(files, decode, with(&image.RandomResizedCrop{Size: recipe.Size{Height: 3}, Scale: &[2]float64{0, 0}, Ratio: &[2]float64{2, 1}})), []string{
			`step "random_resized_crop" (#3): scale is [0, 0]: must be two rising shares, above 0 and up to 1`,
			`step "random_resized_crop" (#3): ratio is [2, 1]: must be two rising numbers above 0`,
		}},
		{steps(files, decode, with(&image.RandomFlip{P: new(1.5)})), []string{`step "random_flip" (#3): p is 1.5: must be from 0 to 1`}},

		// batch
		{steps(files, decode, resize, batch), []string{
			`step "batch" (#4): cannot stack images of different sizes: the field "image" is uint8 [?, ?, 3]; put center_crop, random_resized_crop, resize to [height, width] or resize_to_bucket before it`,
		}},
		{steps(files, batch), []string{`step "batch" (#2): cannot stack the field "bytes", which is bytes; put decode_image or decode_npy before it, leave the field out: drop("bytes"), or keep the bytes as they are, as objects: the source or function that makes them says gives={"bytes": object}`}},
		{steps(files, decode, crop, with(&flow.Batch{})), []string{`step "batch" (#4): has no size, or 0: needs either size or global_size, at least 1`}},
		{steps(files, decode, crop, with(&flow.Batch{Size: 3, GlobalSize: 4})), []string{`step "batch" (#4): has both size and global_size: give one of them`}},
		{steps(files, decode, crop, with(&flow.Batch{Size: -3})), []string{`step "batch" (#4): size is -3: must be from 1 to 2147483647`}},
		{steps(files, decode, crop, with(&flow.Batch{GlobalSize: 1 << 40})), []string{`step "batch" (#4): global_size is 1099511627776: must be from 1 to 2147483647`}},
		{steps(files, decode, crop, with(&flow.Batch{Size: 3, MaxWait: new(0.0)})), []string{`step "batch" (#4): max_wait is 0: must be from 0.001 to 86400 seconds`}},
		{steps(files, decode, crop, with(&flow.Batch{Size: 3, MaxWait: new(math.NaN())})), []string{`step "batch" (#4): max_wait is NaN: must be from 0.001 to 86400 seconds`}},
		{steps(files, decode, crop, with(&flow.Batch{GlobalSize: 3, MaxWait: new(0.05)})), []string{`step "batch" (#4): max_wait and global_size cannot both be given: ranks would have other batches at other times; leave one of them out`}},
		{steps(files, decode, crop, with(&flow.Batch{Size: 3, DropLast: true, MaxWait: new(0.05)})), []string{`step "batch" (#4): max_wait and drop_last cannot both be given: any batch may have fewer samples, not only the last; leave one of them out`}},
		{steps(files, decode, with(&image.ResizeToBucket{Sizes: []recipe.Size{{Height: 8, Width: 8}, {Height: 8, Width: 16}}}), inTime), []string{`step "batch" (#4): max_wait and resize_to_bucket cannot both be given: images wait for others of their size; leave one of them out`}},
		{steps(files, recipe.Step{Op: "shuffle"}, decode, crop, inTime), []string{`step "batch" (#5): has max_wait, and "shuffle" sets the order, so that every run has the same batches: leave one of them out`}},
		{steps(files, decode, crop, inTime, recipe.Step{Args: &flow.Unbatch{}}), []string{`step "unbatch" (#5): makes other samples of the batches of "batch", and max_wait gives these by time, so that no run could be resumed in between: leave max_wait out of "batch", or do this in your loop`}},
		{steps(files, decode, crop, inTime, with(&flow.Batch{Size: 2})), []string{
			`step "batch_2" (#5): makes other samples of the batches of "batch", and max_wait gives these by time, so that no run could be resumed in between: leave max_wait out of "batch", or do this in your loop`,
			`step "batch_2" (#5): cannot stack batches of different sizes: the field "image" is uint8 [?, 224, 224, 3]; give "batch" a size and drop_last, or put unbatch before "batch_2"`,
		}},
		{steps(files, decode, crop, with(&flow.Batch{Size: 2, DropLast: true}), inTime), []string{`step "batch_2" (#5): makes batches of batches, and max_wait is for samples that arrive one by one: leave it out, or put unbatch before "batch_2"`}},
		{steps(files, decode, crop, batch, flip), []string{`step "random_flip" (#5): comes after "batch", which makes batches, and works on samples: put it before, or unbatch between them`}},

		// order
		{steps(decode), []string{`step "decode_image" (#1): has nothing to read: a recipe begins with a source such as files`}},
		{steps(files, decode, recipe.Step{Op: "shuffle"}), []string{
			`step "shuffle" (#3): comes after "decode_image": it must directly follow the source, since it sets the source's order; no sample waits to be mixed with others`,
		}},
		{steps(files, recipe.Step{Op: "shuffle"}, recipe.Step{Op: "shuffle"}), []string{
			`step "shuffle_2" (#3): comes after "shuffle": it must directly follow the source, since it sets the source's order; no sample waits to be mixed with others`,
		}},
		{steps(files, files), []string{`step "files_2" (#2): is a source and can only begin a recipe, or what merge puts together`}},

		// names and edges
		{steps(files, recipe.Step{Op: "decode_image", Name: "files"}), []string{`step "files" (#2): name is that of step #1 too`}},
		{steps(files, decode, flip, flip, recipe.Step{Op: "random_flip", Name: "random_flip_2"}), []string{`step "random_flip_2" (#5): name is that of step #4 too`}},
		{steps(files, decode, recipe.Step{Op: "random_vertical_flip", Name: "random_flip"}, flip), []string{`step "random_flip" (#4): name is that of step #3 too`}},
		{steps(files, recipe.Step{Op: "decode_image", Name: "a b"}), []string{`step "a b" (#2): name is "a b": must be letters, digits, and _ . - after the first letter`}},

		// what only Go programs can write
		{steps(recipe.Step{}), []string{`step #1: has no operation`}},
		{steps(recipe.Step{Op: "resise"}), []string{`step "resise" (#1): there is no operation "resise": did you mean "resize"?`}},
		{steps(files, recipe.Step{Op: "decode_image", Args: &flow.Batch{}}), []string{`step "decode_image" (#2): has arguments of the type *flow.Batch: must be *image.DecodeImage`}},
	} {
		schema, err := c.r.Check()
		if err == nil {
			t.Errorf("%v gives %v, want the error %q", c.r, schema, c.want)
			continue
		}
		if diff := cmp.Diff(c.want, strings.Split(strings.ReplaceAll(err.Error(), "recipe: ", ""), "\n")); diff != "" {
			t.Errorf("%v:\n%s", c.r, diff)
		}
	}
}

func TestCompleteChangesNothing(t *testing.T) {
	r := steps(files, decode, recipe.Step{Args: &image.CenterCrop{Size: recipe.Size{Height: 4, Width: 4}}}, flip)
	before, err := json.Marshal(r.Steps[2].Args)
	if err != nil {
		t.Fatal(err)
	}
	c := r.Complete()
	if r.Steps[1].Args != nil || r.Steps[1].Name != "" || r.Steps[0].Args.(*input.Files).MaxBytes != 0 {
		t.Errorf("the recipe became %+v", r)
	}
	if after, _ := json.Marshal(r.Steps[2].Args); string(after) != string(before) {
		t.Errorf("%s became %s", before, after)
	}
	if again := c.Complete(); !cmp.Equal(again, c) {
		t.Errorf("completing twice gives another recipe:\n%s", cmp.Diff(c, again))
	}
}

func TestNames(t *testing.T) {
	r := steps(files, decode, flip, recipe.Step{Op: "random_flip", Name: "mirror"}, flip, flip).Complete()
	var got []string
	for _, s := range r.Steps {
		got = append(got, s.Name)
	}
	if diff := cmp.Diff([]string{"files", "decode_image", "random_flip", "mirror", "random_flip_3", "random_flip_4"}, got); diff != "" {
		t.Error(diff)
	}
}

func TestString(t *testing.T) {
	for _, c := range []struct {
		r    recipe.Recipe
		want string
	}{
		{recipe.Recipe{}, ""},
		{
			steps(files, recipe.Step{Op: "shuffle"}, decode, resize, crop, flip, flip, batch),
			`files(pattern="data", label="parent") → shuffle → decode_image → resize(size=256) → center_crop(size=224) → random_flip → random_flip_2 → batch(size=32)`,
		},
		{
			steps(recipe.Step{Args: &input.Files{Pattern: "a<b\xff", Root: "/x"}}, recipe.Step{Name: "d", Args: &image.DecodeImage{Orient: new(false), Field: "bytes"}}, recipe.Step{Args: &image.RandomFlip{P: new(0.25)}, Name: "mirror"}),
			`files(pattern="a<b\udcff") → d: decode_image(orient=false) → mirror: random_flip(p=0.25)`,
		},
		{
			steps(recipe.Step{Args: &input.Files{Paths: []recipe.Path{"a", "b", "c", "d"}}}, recipe.Step{Args: &image.RandomResizedCrop{Size: recipe.Size{Height: 3, Width: 4}, Scale: &[2]float64{0.5, 1}}}),
			`files(paths=["a", … 4 in all]) → random_resized_crop(size=[3,4], scale=[0.5,1])`,
		},
		{
			steps(recipe.Step{Args: &input.Files{Pattern: recipe.Path(strings.Repeat("long/", 50))}}),
			`files(pattern="long/long/long/long/long/long…g/long/long/long/long/long/")`,
		},
		{steps(recipe.Step{Op: "what"}), "what"},
	} {
		if got := c.r.String(); got != c.want {
			t.Errorf("got  %s\nwant %s", got, c.want)
		}
	}
}

func TestFingerprint(t *testing.T) {
	base := func() recipe.Recipe {
		return recipe.Recipe{Seed: 5, Steps: []recipe.Step{files, {Op: "shuffle"}, decode, resize, crop, batch}}
	}
	const pinned = "83e49cbab204b3b40882f4c4aae0f31d70fad04aa9f33ea3d9cf6c1d277c338e"
	if got := base().Fingerprint(); got != pinned {
		t.Errorf("the fingerprint became %s: states that were saved cannot be restored any more", got)
	}
	edit := func(i int, s recipe.Step) recipe.Recipe {
		r := base()
		r.Steps[i] = s
		return r
	}
	for name, r := range map[string]recipe.Recipe{
		"root":                edit(0, recipe.Step{Args: &input.Files{Pattern: "data", Label: "parent", Root: "/elsewhere"}}),
		"the seed of shuffle": edit(1, recipe.Step{Args: &flow.Shuffle{Seed: new(uint64(5))}}),
		"defaults":            edit(2, recipe.Step{Name: "decode_image", Args: &image.DecodeImage{Mode: "exact", Orient: new(true), Color: "rgb", DType: "uint8", Frame: new(0), MaxPixels: new(178_956_970)}}),
		"the filter":          edit(3, recipe.Step{Args: &image.Resize{Size: recipe.Size{Height: 256}, Filter: "bilinear"}}),
		"a square":            edit(4, recipe.Step{Args: &image.CenterCrop{Size: recipe.Size{Height: 224, Width: 224}}}),
	} {
		if r.Fingerprint() != pinned {
			t.Errorf("%s changes the fingerprint of what gives the same samples", name)
		}
	}
	seed := base()
	seed.Seed = 6
	for name, r := range map[string]recipe.Recipe{
		"the seed":            seed,
		"pattern":             edit(0, recipe.Step{Args: &input.Files{Pattern: "other", Label: "parent"}}),
		"the seed of shuffle": edit(1, recipe.Step{Args: &flow.Shuffle{Seed: new(uint64(6))}}),
		"orient":              edit(2, recipe.Step{Args: &image.DecodeImage{Orient: new(false)}}),
		"color":               edit(2, recipe.Step{Args: &image.DecodeImage{Color: "gray"}}),
		"dtype":               edit(2, recipe.Step{Args: &image.DecodeImage{DType: "uint16"}}),
		"background":          edit(2, recipe.Step{Args: &image.DecodeImage{Background: &[3]int{}}}),
		"max_pixels":          edit(2, recipe.Step{Args: &image.DecodeImage{MaxPixels: new(178_956_969)}}),
		"mode":                edit(2, recipe.Step{Args: &image.DecodeImage{Mode: "fast"}}),
		"filter":              edit(3, recipe.Step{Args: &image.Resize{Size: recipe.Size{Height: 256}, Filter: "box"}}),
		"size":                edit(4, recipe.Step{Args: &image.CenterCrop{Size: recipe.Size{Height: 225}}}),
		"a name":              edit(4, recipe.Step{Name: "crop", Args: crop.Args}),
		"batch":               edit(5, recipe.Step{Args: &flow.Batch{Size: 33}}),
	} {
		if r.Fingerprint() == pinned {
			t.Errorf("%s does not change the fingerprint", name)
		}
	}
}

// A list is in the fingerprint with all its paths and labels, and their order.
func TestFingerprintOfLists(t *testing.T) {
	seen := make(map[string]string)
	for _, f := range []input.Files{
		{Paths: []recipe.Path{"a", "b"}}, {Paths: []recipe.Path{"b", "a"}}, {Paths: []recipe.Path{"ab"}}, {Paths: []recipe.Path{"a"}}, {Paths: []recipe.Path{}},
		{Pairs: []input.Pair{{Path: "a"}, {Path: "b"}}}, {Pairs: []input.Pair{{Path: "a", Label: 1}, {Path: "b"}}}, {Pairs: []input.Pair{{Path: "a"}, {Path: "b", Label: 1}}},
	} {
		r := steps(recipe.Step{Args: &f})
		if other := seen[r.Fingerprint()]; other != "" {
			t.Errorf("%v and %s have one fingerprint", r, other)
		}
		seen[r.Fingerprint()] = r.String()
		f.Root = "/elsewhere"
		if seen[steps(recipe.Step{Args: &f}).Fingerprint()] == "" {
			t.Errorf("the root changes the fingerprint of %v", r)
		}
	}
}

func TestRecipeInsideJSON(t *testing.T) {
	r := recipe.Recipe{Seed: 1, Steps: []recipe.Step{{Args: &input.Files{Pairs: []input.Pair{{Path: "\xff", Label: 3}}, Root: "/\xfe"}}, decode, crop, batch}}
	text, err := json.Marshal(map[string]any{"recipe": r})
	if err != nil {
		t.Fatal(err)
	}
	var back struct{ Recipe recipe.Recipe }
	if err := json.Unmarshal(text, &back); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(r.Complete(), back.Recipe); diff != "" {
		t.Errorf("%s\n%s", text, diff)
	}
}

// Help texts and schemas are made of these.
func TestEverythingIsDocumented(t *testing.T) {
	for _, op := range recipetest.Ops() {
		if !strings.HasSuffix(op.Doc, ".") || strings.ToUpper(op.Doc[:1]) != op.Doc[:1] {
			t.Errorf("%s: the doc is not a sentence: %q", op.Name, op.Doc)
		}
		args := op.Arguments()
		if d, ok := argument.Struct(op.New()).(argument.Documented); ok {
			for of, text := range d.Docs() {
				name, tag, _ := strings.Cut(of, " ")
				if !slices.ContainsFunc(args, func(a recipe.Argument) bool { return a.Name == name && (a.Doc == text || tag != "") }) {
					t.Errorf("%s: it has no argument for the text about %q", op.Name, of)
				}
			}
		}
		if n := fieldsIn(reflect.TypeOf(op.New()).Elem()); len(args) != n {
			t.Errorf("%s has %d arguments of %d fields", op.Name, len(args), n)
		}
		for _, f := range argument.FieldsOf(op.New()) {
			for _, tag := range regexp.MustCompile(`(\w+):"`).FindAllStringSubmatch(string(f.Tag), -1) {
				if !slices.Contains(knownTags, tag[1]) {
					t.Errorf("%s: %s has a tag %s, which nobody reads: there are %v", op.Name, f.Name, tag[1], knownTags)
				}
			}
		}
		for _, a := range args {
			switch {
			case a.Doc == "":
				t.Errorf("%s: %s has no text: give it a tag doc, or a line in Docs", op.Name, a.Name)
			case a.Name != strings.ToLower(a.Name):
				t.Errorf("%s: %s is not in small letters", op.Name, a.Name)
			case a.Takes == "" || strings.HasPrefix(a.Takes, "recipe."):
				t.Errorf("%s: nothing says what %s takes: %+v", op.Name, a.Name, a)
			}
		}
	}
}

// fieldsIn counts the fields of a struct, those of embedded ones too.
// knownTags are those that an argument of an operation may have.
var knownTags = strings.Fields("json doc min max example default choices field required unit python")

func fieldsIn(t reflect.Type) (n int) {
	for i := range t.NumField() {
		if f := t.Field(i); f.Anonymous {
			n += fieldsIn(f.Type)
		} else {
			n++
		}
	}
	return n
}

// sharpen is an operation of somebody else.
type sharpen struct {
	Amount float64 `json:"amount" doc:"how much"`
}

func (s *sharpen) Check(in sample.Schema) (sample.Schema, error) {
	return in.With("sharp", sample.TensorType(tensor.Float32)), nil
}

type blunt struct{}

func (blunt) Check(in sample.Schema) (sample.Schema, error) { return in, nil }

func TestRegister(t *testing.T) {
	op := recipe.Op{Name: "sharpen", Doc: "Sharpens.", New: func() recipe.Args { return new(sharpen) }}
	if err := recipe.Register(op); err != nil {
		t.Fatal(err)
	}
	r, err := recipe.Parse([]byte(wrap(`{"files":{"pattern":"a"}},{"sharpen":{"amount":0.5}}`)))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(&sharpen{0.5}, r.Steps[1].Args); diff != "" {
		t.Error(diff)
	}
	if schema, err := r.Check(); err != nil || schema.String() != "bytes bytes, key text, sharp float32" {
		t.Errorf("%v, %v", schema, err)
	}
	for _, c := range []struct {
		op   recipe.Op
		want string
	}{
		{op, `recipe: there is an operation "sharpen" already`},
		{recipe.Op{Name: "sharpen_more", New: op.New}, `recipe: operation "sharpen_more": its arguments *recipe_test.sharpen belong to "sharpen" already`},
		{recipe.Op{Name: "blunt", New: func() recipe.Args { return blunt{} }}, `recipe: operation "blunt": its arguments are recipe_test.blunt: must be a pointer to a struct`},
		{recipe.Op{Name: "nil", New: func() recipe.Args { return nil }}, `recipe: operation "nil": its arguments are <nil>: must be a pointer to a struct`},
		{recipe.Op{Name: "a b", New: func() recipe.Args { return new(blunt) }}, `recipe: operation "a b": its name is "a b": must be letters, digits, and _ . - after the first letter`},
		{recipe.Op{Name: "failures", New: func() recipe.Args { return new(blunt) }}, `recipe: operation "failures": its name is a key that steps have beside their operation`},
	} {
		if err := recipe.Register(c.op); err == nil || err.Error() != c.want {
			t.Errorf("got  %v\nwant %s", err, c.want)
		}
	}
}
