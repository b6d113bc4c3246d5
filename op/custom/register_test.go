package custom_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/internal/loadertest"
	"github.com/headrace/headrace/internal/phototest"
	"github.com/headrace/headrace/internal/record"
	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/op/core"
	"github.com/headrace/headrace/op/custom"
	"github.com/headrace/headrace/op/flow"
	"github.com/headrace/headrace/op/image"
	"github.com/headrace/headrace/op/input"
	"github.com/headrace/headrace/recipe"
	"github.com/headrace/headrace/sample"
	"github.com/headrace/headrace/tensor"
)

// fake is an operation of any types, whose arguments are A.
type fake[In, Out, A any] struct {
	Args A `json:"args"`
}

func (*fake[In, Out, A]) Do(context.Context, In) (out Out, err error) { return out, nil }

// flat is one whose arguments are fields of A.
func registering[In, Out any](op headrace.Operation[In, Out]) error {
	return headrace.Register("fake", "Does nothing.", func() headrace.Operation[In, Out] { return op })
}

type (
	nothing   struct{}
	twoImages struct {
		A media.Pixels `field:"a"`
		B media.Pixels `field:"b"`
	}
	oneImage struct {
		A media.Pixels `field:"a"`
	}
	withRand struct {
		Rand headrace.Rand
	}
	takes struct {
		Text string `field:"key,take"`
	}
	omits struct {
		Level int `json:"level,omitempty"`
	}
)

func (*omits) Do(context.Context, nothing) (out nothing, err error) { return out, nil }

type quotes struct {
	Level int `json:"level,string"`
}

func (*quotes) Do(context.Context, nothing) (out nothing, err error) { return out, nil }

type twice struct {
	Level int `json:"Depth"`
	Depth int
}

func (*twice) Do(context.Context, nothing) (out nothing, err error) { return out, nil }

// share has an argument that JSON cannot always write.
type share struct {
	P float64 `json:"p"`
}

func (*share) Do(context.Context, nothing) (out nothing, err error) { return out, nil }

type embeds struct{ *share }

func (*embeds) Do(context.Context, nothing) (out nothing, err error) { return out, nil }

type notAStruct int

func (notAStruct) Do(context.Context, nothing) (out nothing, err error) { return out, nil }

func TestRegisterRefuses(t *testing.T) {
	register(t)
	for want, err := range map[string]error{
		"In is int: must be a struct":  registering(&fake[int, nothing, int]{}),
		"Out is []struct {}: must be":  registering(&fake[nothing, []struct{}, int]{}),
		`field Image of In has no tag`: registering(&fake[struct{ Image media.Pixels }, nothing, int]{}),
		`field image of In is not exported`: registering(&fake[struct {
			image media.Pixels `field:"image"`
		}, nothing, int]{}),
		`field A of In has the option "keep" in its tag: there is only "take"`: registering(&fake[struct {
			A string `field:"key,keep"`
		}, nothing, int]{}),
		`field A of In is int: must be bool, int8 to int64`: registering(&fake[struct {
			A int `field:"label"`
		}, nothing, int]{}),
		`field A of Out is []float32: must be`: registering(&fake[nothing, struct {
			A []float32 `field:"x"`
		}, int]{}),
		`field B of In has the name of another field`: registering(&fake[struct {
			A, B string `field:"key"`
		}, nothing, int]{}),
		`field R of In is a headrace.Rand, which is not a field of samples: leave out the tag`: registering(&fake[struct {
			R headrace.Rand `field:"image"`
		}, nothing, int]{}),
		`field C of In is a headrace.Canvas, which is not a field`: registering(&fake[struct {
			C headrace.Canvas `field:"bytes,take"`
		}, nothing, int]{}),
		`field S of In has the name of another`:                        registering(&fake[struct{ R, S headrace.Rand }, nothing, int]{}),
		`In has two images, "a" and "b": at most one is allowed`:       registering(&fake[twoImages, nothing, int]{}),
		`Out has two images`:                                           registering(&fake[nothing, twoImages, int]{}),
		`a field that only In can have is in Out: headrace.Rand`:       registering(&fake[nothing, withRand, int]{}),
		`a field that only In can have is in Out: "key,take"`:          registering(&fake[nothing, takes, int]{}),
		`"fake" gives the image "a" and reads none: it needs a method`: registering(&fake[nothing, oneImage, int]{}),
		`its argument Args is a float32: must be bool, int, int64`:     registering(&fake[nothing, nothing, float32]{}),
		`its argument Args is a map[string]int: must be`:               registering(&fake[nothing, nothing, map[string]int]{}),
		`its argument Args is a [][2]uint8: must be`:                   registering(&fake[nothing, nothing, [][2]uint8]{}),
		`its argument Level has the tag json:"level,omitempty"`:        registering(&omits{}),
		`its argument Level has the tag json:"level,string"`:           registering(&quotes{}),
		`it embeds *custom_test.share: only structs without a tag`:     registering(&embeds{}),
		`two of its arguments are called "Depth"`:                      registering(&twice{}),
		`is custom_test.notAStruct: must be a pointer to a struct`:     registering(notAStruct(0)),
		`is *custom_test.omits: must be a pointer`:                     registering((*omits)(nil)),
		`its function is nil`:                                          headrace.Register[nothing, nothing]("fake", "", nil),
		`there is an operation "negate" already`:                       headrace.Register("negate", "", func() headrace.Operation[nothing, nothing] { return new(fake[nothing, nothing, int]) }),
		`its name is "two words"`:                                      headrace.Register("two words", "", func() headrace.Operation[nothing, nothing] { return new(fake[nothing, nothing, int]) }),
		`its arguments *custom_test.invert belong to "negate" already`: headrace.Register("inverse", "", func() headrace.Operation[invertIn, invertOut] { return new(invert) }),
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, expected %q", err, want)
		}
	}
	if _, known := recipe.Find("fake"); known {
		t.Error("what was refused is known")
	}
}

// Several arguments of every kind are written and read again.
type kinds struct {
	Bool   bool        `json:"bool"`
	Int    int         `json:"int"`
	Long   int64       `json:"long"`
	Whole  uint64      `json:"whole"`
	Float  float64     `json:"float"`
	Text   string      `json:"text"`
	Maybe  *float64    `json:"maybe"`
	List   []string    `json:"list"`
	Pair   [2]int      `json:"pair"`
	Pairs  [][2]int64  `json:"pairs"`
	Own    recipe.Size `json:"own"`
	hidden int
	Left   func() `json:"-"`
}

func (*kinds) Do(context.Context, nothing) (out nothing, err error) { return out, nil }

func TestArgumentsGoThroughText(t *testing.T) {
	err := headrace.Register("kinds", "Has all.", func() headrace.Operation[nothing, nothing] {
		return &kinds{Float: 0.5, Text: "usual", Own: recipe.Size{Height: 1}, hidden: 3}
	})
	if err != nil {
		t.Fatal(err)
	}
	const steps = `{"files": {"pattern": "a"}}, {"kinds": %s}`
	for given, want := range map[string]string{
		`{}`: `{"bool":false,"int":0,"long":0,"whole":0,"float":0.5,"text":"usual","maybe":null,"list":null,"pair":[0,0],"pairs":null,"own":1}`,
		`{"bool":true,"int":-1,"long":-2,"whole":18446744073709551615,"float":0,"text":"","maybe":0,"list":["a"],"pair":[1,2],"pairs":[[3,4]],"own":[5,6]}`: `{"bool":true,"int":-1,"long":-2,"whole":18446744073709551615,"float":0,"text":"","maybe":0,"list":["a"],"pair":[1,2],"pairs":[[3,4]],"own":[5,6]}`,
	} {
		r := loadertest.Recipe(t, steps, given)
		text, err := r.Steps[1].Args.(json.Marshaler).MarshalJSON()
		if err != nil || string(text) != want {
			t.Errorf("%s became %s, %v", given, text, err)
		}
		if again := loadertest.Recipe(t, steps, text); again.Fingerprint() != r.Fingerprint() {
			t.Errorf("%s is read as another recipe", text)
		}
	}
	_, err = recipe.Parse([]byte(`{"headrace": 1, "steps": [{"kinds": {"flaot": 1, "int": 0.5}}]}`))
	for _, want := range []string{`unknown argument "flaot": did you mean "float"?`, `int is 0.5: must be a whole number`} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v lacks %s", err, want)
		}
	}
}

// told is an operation that says what its test wants.
type told[In, Out any] struct {
	form media.Form
	err  error
}

func (*told[In, Out]) Do(context.Context, In) (out Out, err error) { return out, nil }
func (o *told[In, Out]) Result(media.Form) (media.Form, error)     { return o.form, o.err }

func TestRecipesSayWhatOperationsCannotTake(t *testing.T) {
	register(t)
	decode, crop := recipe.Step{Op: "decode_image"}, recipe.Step{Args: &image.CenterCrop{Size: recipe.Size{Height: 8}}}
	normalize := recipe.Step{Args: &image.Normalize{Mean: image.Channels{0}, Std: image.Channels{1}}}
	if err := headrace.Register("told", "Says.", func() headrace.Operation[oneImage, imageOut] { return new(told[oneImage, imageOut]) }); err != nil {
		t.Fatal(err)
	}
	toldOf := func(f media.Form, err error) recipe.Step {
		return recipe.Step{Args: headrace.Args(&told[oneImage, imageOut]{f, err})}
	}
	type asks struct {
		A float32  `field:"label"`
		B [8]int64 `field:"key"`
		C string   `field:"lable"`
	}
	if err := headrace.Register("asks", "Asks.", func() headrace.Operation[asks, nothing] { return new(fake[asks, nothing, string]) }); err != nil {
		t.Fatal(err)
	}
	if err := headrace.Register("share", "Shares.", func() headrace.Operation[nothing, nothing] { return new(share) }); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		want  string
		steps []recipe.Step
	}{
		{`step "share" (#2): has arguments that cannot be written: json: unsupported value: NaN`, []recipe.Step{{Args: headrace.Args(&share{math.NaN()})}}},
		{`step "negate" (#2): reads the field "image": the samples have "bytes", "label", "key"`, []recipe.Step{{Op: "negate"}}},
		{`step "negate" (#5): reads "image" as an image: it is float32 [8, 8, 3] there; put it before normalize and layout`, []recipe.Step{decode, crop, normalize, {Op: "negate"}}},
		{`step "negate" (#3): from is 300: must be from 0 to 255`, []recipe.Step{decode, {Args: headrace.Args(&invert{From: new(300)})}}},
		{`step "trouble" (#2): of is 0: must be at least 1`, []recipe.Step{{Args: headrace.Args(&trouble{})}}},
		{`step "asks" (#2): reads "label" as float32: it is int64
recipe: step "asks" (#2): reads "key" as int64 [8]: it is text
recipe: step "asks" (#2): reads the field "lable": the samples have "bytes", "label", "key"`, []recipe.Step{{Op: "asks"}}},
		{`step "told" (#3): reads the field "a"`, []recipe.Step{decode, {Op: "told"}}},
		{`step "told" (#4): is not possible: it does not work`, []recipe.Step{{Args: &image.DecodeImage{To: "a"}}, crop, toldOf(media.Form{}, errFail)}},
		{`step "told" (#4): gives the image "image", which its method Result says is uint8 [0, 3, 3]: must be uint8 or uint16, a height, a width, and 1, 3 or 4 channels`,
			[]recipe.Step{{Args: &image.DecodeImage{To: "a"}}, crop, toldOf(media.Form{Width: 3}, nil)}},
		{`says is float32 [3, 3, 3]`, []recipe.Step{{Args: &image.DecodeImage{To: "a"}}, crop, toldOf(media.Form{Height: 3, Width: 3, DType: tensor.Float32}, nil)}},
		{`step "cipher" (#3): reads the field "bytes": the samples have "image", "label", "key"`, []recipe.Step{decode, {Op: "cipher"}}},
		{`step "raw_2" (#3): reads the field "bytes": the samples have "label", "key", "image"`, []recipe.Step{{Op: "raw"}, {Op: "raw"}}},
		{`step "batch" (#3): cannot stack the field "bytes", which is bytes`, []recipe.Step{{Op: "cipher"}, {Args: &flow.Batch{Size: 1}}}},
		{`step "batch" (#4): cannot stack images of different sizes: the field "image" is uint8 [?, ?, 3]`, []recipe.Step{decode, {Op: "thin"}, {Args: &flow.Batch{Size: 1}}}},
		{`cannot tell which image is meant`, []recipe.Step{decode, {Op: "mean"}, crop}},
		{`has no operation`, []recipe.Step{{Args: headrace.Args(&omits{})}}},
	} {
		r := recipe.Recipe{Steps: append([]recipe.Step{{Args: &input.Files{Pattern: "x", Label: "parent"}}}, c.steps...)}
		if _, err := r.Check(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v\nexpected %s", err, c.want)
		}
	}
}

// described is known by its form alone.
type described struct{}

func (*described) Check(in sample.Schema) (sample.Schema, error) { return in, nil }

func TestAnOperationWithoutCodeIsRefused(t *testing.T) {
	if err := recipe.Register(recipe.Op{Name: "described", Doc: "Is known.", New: func() recipe.Args { return new(described) }}); err != nil {
		t.Fatal(err)
	}
	r := recipe.Recipe{Steps: []recipe.Step{
		{Args: &input.Files{Pattern: recipe.Path(phototest.Folder(t, 1)), Root: "/"}}, {Op: "decode_image"},
		{Args: &image.CenterCrop{Size: recipe.Size{Height: 8}}}, {Op: "described"}, {Args: &flow.Batch{Size: 1}},
	}}
	_, err := headrace.Open(t.Context(), r, headrace.Config{}, headrace.Options{})
	var mistake *recipe.Error
	if !errors.As(err, &mistake) || mistake.Step != 4 || !strings.Contains(err.Error(), `step "described" (#4): is described, for which the engine has no code: headrace.Register brings it`) {
		t.Error(err)
	}
}

// What an operation gives is held against what it said.
type wrong struct {
	Kind string `json:"kind"`
}

func (o *wrong) Do(_ context.Context, in meanIn) (imageOut, error) {
	p := in.Image
	switch o.Kind {
	case "short":
		p.Data = p.Data[:10]
	case "float":
		p.DType = tensor.Float32
	case "gray":
		p.Color = media.Gray
	case "small":
		p.Height--
	case "none":
		p = media.Pixels{}
	case "canvas":
		headrace.Canvas{}.Pixels(media.Form{Height: 1 << 20, Width: 1 << 20, DType: tensor.Uint8})
	}
	return imageOut{p}, nil
}

func TestImagesAreHeldAgainstTheirForm(t *testing.T) {
	if err := headrace.Register("wrong", "Is wrong.", func() headrace.Operation[meanIn, imageOut] { return new(wrong) }); err != nil {
		t.Fatal(err)
	}
	root := phototest.Folder(t, 1)
	for kind, want := range map[string]string{
		"short":  "do not fit into 10 bytes",
		"float":  "pixels of float32 [8, 8, 3]",
		"gray":   `wrong gives the image "image" as uint8 [8, 8, 1], and must give uint8 [8, 8, 3]`,
		"small":  `as uint8 [7, 8, 3], and must give uint8 [8, 8, 3]`,
		"none":   `wrong gives the image "image": media: impossible geometry`,
		"canvas": "Canvas.Pixels of uint8 [1048576, 1048576, 3]: must be",
	} {
		r := recipe.Recipe{Steps: []recipe.Step{
			{Args: &input.Files{Pattern: recipe.Path(root), Root: "/"}}, {Op: "decode_image"},
			{Args: &image.CenterCrop{Size: recipe.Size{Height: 8}}}, {Args: headrace.Args(&wrong{kind})}, {Args: &flow.Batch{Size: 1}},
		}}
		l := loadertest.Open(t, r, headrace.Config{Epochs: new(1)}, headrace.Options{})
		if _, err := l.Next(t.Context()); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "000.jpg") {
			t.Errorf("%s: %v, expected %s", kind, err, want)
		}
		l.Close()
		if used := l.Stats().Memory.Used; used != 0 {
			t.Errorf("%s: %d bytes are still held", kind, used)
		}
	}
}

func TestRandIsThatOfItsStep(t *testing.T) {
	draw := func(r headrace.Rand) string { return fmt.Sprint(r.Uint64(), r.Float64(), r.IntN(1000), r.IntN(0)) }
	w, source := core.Env{Seed: 7}, &record.Source{Draws: 1}
	first := draw(custom.NewRand(w.RandomKey(&record.Record{Source: source}), 5))
	if again := draw(custom.NewRand(w.RandomKey(&record.Record{Source: source}), 5)); again != first {
		t.Errorf("%s, then %s", first, again)
	}
	for _, other := range []headrace.Rand{custom.NewRand(w.RandomKey(&record.Record{Source: source}), 6), custom.NewRand(w.RandomKey(&record.Record{Source: source, ID: sample.ID{Index: 1}}), 5), custom.NewRand(w.RandomKey(&record.Record{Source: source, ID: sample.ID{Epoch: 1}}), 5),
		custom.NewRand(w.RandomKey(&record.Record{Source: source, Made: []int64{0}}), 5), custom.NewRand(w.RandomKey(&record.Record{Source: source, Made: []int64{0, 0}}), 5)} {
		if draw(other) == first {
			t.Errorf("%+v draws the same", other)
		}
	}
}
