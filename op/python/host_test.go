package python

import (
	"strings"
	"testing"

	"github.com/headrace/headrace/extern"
	"github.com/headrace/headrace/op/core"
	"github.com/headrace/headrace/recipe"
	"github.com/headrace/headrace/sample"
	"github.com/headrace/headrace/tensor"
)

// Steps share workers unless they hold one, or say how many processes there are.
func TestWhichStepsShareWorkers(t *testing.T) {
	h := described(t)
	options := extern.Options{Kind: extern.Map, Heap: h.Heap}
	processes := h.share(&recipe.Python{}, options)
	if processes == nil || processes != h.share(&recipe.Python{Where: "process"}, options) {
		t.Error("two maps share no processes")
	}
	threaded := options
	threaded.Threads = true
	if w := h.share(&recipe.Python{Where: "thread"}, threaded); w == nil || w == processes {
		t.Error("threads are not shared, or are processes")
	}
	seeded := threaded
	seeded.Seed = []string{"numpy"}
	if h.share(&recipe.Python{Where: "thread"}, seeded) != nil {
		t.Error("threads that seed a generator are shared")
	}
	if h.share(&recipe.Python{Workers: new(3)}, options) != nil {
		t.Error("processes of a number are shared")
	}
	for _, kind := range []extern.Kind{extern.FlatMap, extern.Aggregate, extern.Iterate} {
		if h.share(&recipe.Python{}, extern.Options{Kind: kind}) != nil {
			t.Errorf("a stream of kind %v shares workers", kind)
		}
	}
	if a, b := h.keepsAlone("one", options), h.keepsAlone("two", options); a == b || a != h.keepsAlone("one", options) {
		t.Error("a step does not keep its own workers")
	}
}

// Functions that are tried have one worker each, and afterwards as many as they say.
func TestWorkersOfTrials(t *testing.T) {
	h := described(t)
	for _, c := range []struct {
		probes      bool
		given, want int
	}{{true, 0, 1}, {true, 5, 5}, {false, 0, 4}, {false, 5, 5}} {
		if c.probes {
			c.want = 1
		}
		h.Renew(c.want, c.probes)
		p := &recipe.Python{Function: "m:f"}
		if c.given > 0 {
			p.Workers = &c.given
		}
		pool, n, err := h.Open("map", p, extern.Options{Kind: extern.Map, In: number, Gives: number}, nil)
		if err != nil || n != c.want || len(h.All()) != 1 || h.All()[0] != pool {
			t.Errorf("%+v: %d workers, %d pools, %v", c, n, len(h.All()), err)
		}
	}
}

func TestThreadsThatShareGeneratorsAreOne(t *testing.T) {
	h := described(t)
	h.Calls = []*Function{{Stage: "map", Shared: []string{"numpy"}}, {Stage: "filter"}}
	for stage, refused := range map[string]bool{"map": true, "filter": false} {
		if err := h.Refuses(stage, 2); (err != nil) != refused || refused && !strings.Contains(err.Error(), "generators of numpy") {
			t.Errorf("%s: %v", stage, err)
		}
		if err := h.Refuses(stage, 1); err != nil {
			t.Error(err)
		}
	}
	if h := HostOf(&core.Env{}); h != nil || h.Refuses("map", 2) != nil ||
		h.All() != nil || h.Stats() != nil || h.Close() != nil {
		t.Error("a loader without functions has a host")
	}
}

// A result has the type that was said, and an image the bounds of images.
func TestResultsThatFit(t *testing.T) {
	image := sample.TensorType(tensor.Uint8, tensor.Unknown, 4, 3)
	image.Axes = "HWC"
	for _, c := range []struct {
		typ  sample.Type
		is   extern.Value
		fits bool
	}{
		{sample.TensorType(tensor.Int64), valueOf(3), true},
		{sample.TensorType(tensor.Uint64), valueOf(3), false},
		{sample.TextType, valueOf(3), false},
		{sample.TensorType(tensor.Int8, tensor.Unknown, 2),
			extern.Value{Kind: sample.Tensor, DType: tensor.Int8, Shape: tensor.Shape{9, 2}}, true},
		{sample.TensorType(tensor.Int8, tensor.Unknown, 2),
			extern.Value{Kind: sample.Tensor, DType: tensor.Int8, Shape: tensor.Shape{9, 3}}, false},
		{image, extern.Value{Kind: sample.Tensor, DType: tensor.Uint8, Shape: tensor.Shape{5, 4, 3}}, true},
		{image, extern.Value{Kind: sample.Tensor, DType: tensor.Uint8, Shape: tensor.Shape{0, 4, 3}}, false},
		{image, extern.Value{Kind: sample.Tensor, DType: tensor.Uint8, Shape: tensor.Shape{1 << 40, 4, 3}}, false},
	} {
		f := Field{Name: "x", Type: c.typ}
		if err := f.Fits(&c.is); (err == nil) != c.fits {
			t.Errorf("%v as %v: %v", c.is.Shape, c.typ, err)
		}
	}
}

// A chain is given the fields that a function asks for and none before it has made.
func TestWhatAChainIsGiven(t *testing.T) {
	in := sample.Schema{
		{Name: "a", Type: sample.TextType}, {Name: "b", Type: sample.BytesType},
		{Name: "label", Type: sample.TensorType(tensor.Int64)},
	}
	made := recipe.Gives{Schema: sample.Schema{{Name: "c", Type: sample.TextType}}}
	mapping := func(fields, to []string, gives recipe.Gives) recipe.Step {
		return recipe.Step{Name: "map", Args: &Map{Python: recipe.Python{Function: "m:f", Fields: fields}, To: to, Gives: gives}}
	}
	filter := func(fields ...string) recipe.Step {
		return recipe.Step{Name: "filter", Args: &Filter{Python: recipe.Python{Function: "m:g", Fields: fields}}}
	}
	for what, c := range map[string]struct {
		steps             []recipe.Step
		takes, gives, out string
		filters, relabels bool
	}{
		"one field": {[]recipe.Step{mapping([]string{"a"}, []string{"c"}, made), filter("c")},
			"a text", "c text", "a text, b bytes, label int64, c text", true, false},
		"everything": {[]recipe.Step{mapping(nil, nil, made), filter("c")},
			"a text, b bytes, label int64", "c text", "c text", true, false},
		"a filter first": {[]recipe.Step{filter("b"), mapping([]string{"a"}, []string{"c"}, made)},
			"a text, b bytes", "c text", "a text, b bytes, label int64, c text", true, false},
		"labels": {[]recipe.Step{mapping([]string{"a"}, []string{"label"}, recipe.Gives{Schema: in[2:]})},
			"a text", "label int64", "a text, b bytes, label int64", false, true},
		"nobody knows what": {[]recipe.Step{mapping([]string{"a"}, []string{"c"}, recipe.Gives{}), filter("b")},
			"a text, b bytes", "", "", true, false},
	} {
		got := Chained(c.steps, in)
		if got.Options.In.String() != c.takes || got.Options.Gives.String() != c.gives || got.out.String() != c.out ||
			got.Filters != c.filters || got.relabels != c.relabels {
			t.Errorf("%s: in %q, out %q, then %q; filters: %v, relabels: %v", what,
				got.Options.In, got.Options.Gives, got.out, got.Filters, got.relabels)
		}
		if len(got.Options.Chain) != len(c.steps) || got.first.Function == "" {
			t.Errorf("%s: %+v", what, got.Options.Chain)
		}
	}
}
