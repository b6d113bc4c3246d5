package recipe_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/headrace/headrace/op/flow"
	"github.com/headrace/headrace/op/image"
	"github.com/headrace/headrace/op/input"
	"github.com/headrace/headrace/recipe"
)

// wrap makes a recipe of steps.
func wrap(steps string) string { return `{"headrace":1,"steps":[` + steps + `]}` }

func TestParse(t *testing.T) {
	got, err := recipe.Parse([]byte(`
	{"seed": 18446744073709551615, "headrace": 1, "steps": [
		{"files": {"pattern": "data/*/\udcff.jpg", "root": "/home/me", "label": "parent", "max_bytes": 1000}},
		{"shuffle": {"seed": 7}},
		{"name": "decode", "decode_image": {"to": "x", "orient": false}},
		{"resize": {"size": 256, "max_size": null}},
		{"resize": {"size": [224, 192]}},
		{"center_crop": {"size": [200, 200]}},
		{"random_resized_crop": {"size": 128, "scale": [0.5, 1], "ratio": null}},
		{"random_flip": {"p": 0}},
		"random_flip",
		{"batch": {"global_size": 256, "drop_last": true}}
	]}`))
	if err != nil {
		t.Fatal(err)
	}
	want := recipe.Recipe{Seed: 1<<64 - 1, Steps: []recipe.Step{
		{Op: "files", Name: "files", Args: &input.Files{Pattern: "data/*/\xff.jpg", Root: "/home/me", Label: "parent", MaxBytes: 1000}},
		{Op: "shuffle", Name: "shuffle", Args: &flow.Shuffle{Seed: new(uint64(7))}},
		{Op: "decode_image", Name: "decode", Args: &image.DecodeImage{Field: "bytes", To: "x", Mode: "exact", Orient: new(false), Color: "rgb", DType: "uint8"}},
		{Op: "resize", Name: "resize", Args: &image.Resize{Size: recipe.Size{Height: 256}, Filter: "bilinear", Fit: "short"}},
		{Op: "resize", Name: "resize_2", Args: &image.Resize{Size: recipe.Size{Height: 224, Width: 192}, Filter: "bilinear", Fit: "stretch"}},
		{Op: "center_crop", Name: "center_crop", Args: &image.CenterCrop{Size: recipe.Size{Height: 200}}},
		{Op: "random_resized_crop", Name: "random_resized_crop", Args: &image.RandomResizedCrop{
			Size: recipe.Size{Height: 128}, Scale: &[2]float64{0.5, 1}, Ratio: &[2]float64{3. / 4, 4. / 3}, Filter: "bilinear",
		}},
		{Op: "random_flip", Name: "random_flip", Args: &image.RandomFlip{P: new(0.0)}},
		{Op: "random_flip", Name: "random_flip_2", Args: &image.RandomFlip{P: new(0.5)}},
		{Op: "batch", Name: "batch", Args: &flow.Batch{GlobalSize: 256, DropLast: true}},
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestParseListsOfFiles(t *testing.T) {
	got, err := recipe.Parse([]byte(wrap(`{"files":{"paths":["a","\udc80","é"]}}, {"files":{"pairs":[["a",1],["\udcff",-2]]}}, {"files":{"paths":[]}}`)))
	if err != nil {
		t.Fatal(err)
	}
	want := []recipe.Args{
		&input.Files{Paths: []recipe.Path{"a", "\x80", "é"}, MaxBytes: 1 << 30},
		&input.Files{Pairs: []input.Pair{{Path: "a", Label: 1}, {Path: "\xff", Label: -2}}, MaxBytes: 1 << 30},
		&input.Files{Paths: []recipe.Path{}, MaxBytes: 1 << 30},
	}
	for i, s := range got.Steps {
		if diff := cmp.Diff(want[i], s.Args); diff != "" {
			t.Error(diff)
		}
	}
}

// operations lists all that are registered: other tests register their own.
func operations() string {
	var all []string
	for _, op := range recipe.Ops() {
		all = append(all, op.Name)
	}
	return strings.Join(all, ", ")
}

func TestWhatParseRefuses(t *testing.T) {
	for _, c := range []struct{ doc, want string }{
		{`[]`, `recipe: is []: must be an object like {"headrace": 1, "steps": […]}`},
		{`{}`, `recipe: lacks the version of its notation: "headrace": 1
recipe: lacks the key "steps"`},
		{`{"headrace":2,"steps":[]}`, `recipe: headrace is 2: this engine reads version 1 of recipes`},
		{`{"headrace":"1","steps":[]}`, `recipe: headrace is "1": this engine reads version 1 of recipes`},
		{`{"headrace":1,"steps":{}}`, `recipe: steps is an object: must be a list of steps`},
		{`{"headrace":1,"sed":3,"steps":[]}`, `recipe: unknown key "sed": did you mean "seed"? the keys are headrace, seed, steps`},
		{`{"headrace":1,"seed":-3,"steps":[]}`, `recipe: seed is -3: must be a whole number, at least 0`},
		{`{"headrace":1,"seed":1.5,"steps":[]}`, `recipe: seed is 1.5: must be a whole number, at least 0`},
		{`{"headrace":1,"seed":1,"seed":2,"steps":[]}`, `recipe: seed is given twice`},
		{`{"headrace":1,"\ud800":2,"steps":[]}`, `recipe: has the key "\ud800", which has the lone surrogate \ud800, which means nothing`},
		{wrap(`3`), `recipe: step #1: is 3: must be the name of an operation, or an object like {"resize": {"size": 256}}`},
		{wrap(`{}`), `recipe: step #1: has no operation: write an object like {"resize": {"size": 256}}`},
		{wrap(`""`), `recipe: step #1: has no operation: write an object like {"resize": {"size": 256}}`},
		{wrap(`{"":{}}`), `recipe: step #1: has no operation: write an object like {"resize": {"size": 256}}`},
		{wrap(`{"name":"a"}`), `recipe: step "a" (#1): has no operation: write an object like {"resize": {"size": 256}}`},
		{wrap(`"\ud800"`), `recipe: step #1: is "\ud800", which has the lone surrogate \ud800, which means nothing`},
		{wrap(`"resise"`), `recipe: step "resise" (#1): there is no operation "resise": did you mean "resize"?`},
		{wrap(`{"resise":{},"nam":"a"}`), `recipe: step "resise" (#1): unknown key "nam": did you mean "name"?
recipe: step "resise" (#1): there is no operation "resise": did you mean "resize"?`},
		{wrap(`"tokenize"`), `recipe: step "tokenize" (#1): there is no operation "tokenize": there are ` + operations()},
		{wrap(`{"resize":{"size":3},"nme":"a"}`), `recipe: step "resize" (#1): unknown key "nme": did you mean "name"?`},
		{wrap(`{"workers":3,"resize":{"size":3}}`), `recipe: step "resize" (#1): unknown key "workers": a step has an operation, name and failures`},
		{wrap(`{"resize":null,"size":3}`), `recipe: step "resize" (#1): has the key "size" beside resize, but it is an argument of resize: write {"resize": {"size": …}}, in YAML two spaces further in`},
		{wrap(`{"resize":{"size":3},"center_crop":{"size":3}}`), `recipe: step "resize" (#1): has the operations "resize" and "center_crop": each is a step of its own`},
		{wrap(`{"resize":{"size":3},"resize":{"size":3}}`), `recipe: step "resize" (#1): resize is given twice`},
		{wrap(`{"resize":{"size":3},"name":["a"]}`), `recipe: step "resize" (#1): name is ["a"]: must be text`},
		{wrap(`{"resize":[256]}`), `recipe: step "resize" (#1): give its arguments by name, as in {size: …}, not [256]`},
		{wrap(`"files","shuffle",{"resize":{"siz":256}}`), `recipe: step "resize" (#3): unknown argument "siz": did you mean "size"? the arguments are size, max_size, filter, fit, anchor, fill, field, fields`},
		{wrap(`{"resize":{"interpolation":"cubic"}}`), `recipe: step "resize" (#1): interpolation is not an argument: it is called filter`},
		{wrap(`{"resize":{"kernel":"cubic"}}`), `recipe: step "resize" (#1): unknown argument "kernel": the arguments are size, max_size, filter, fit, anchor, fill, field, fields`},
		{wrap(`{"resize":{"size":"big"}}`), `recipe: step "resize" (#1): size is "big": must be a whole number, or [height, width]`},
		{wrap(`{"resize":{"size":256.0}}`), `recipe: step "resize" (#1): size is 256.0: must be a whole number, or [height, width]`},
		{wrap(`{"resize":{"size":0}}`), `recipe: step "resize" (#1): size is 0: must be a whole number, or [height, width]`},
		{wrap(`{"resize":{"size":[1,2,3]}}`), `recipe: step "resize" (#1): size is [1,2,3]: must be a whole number, or [height, width]`},
		{wrap(`{"resize":{"size":[1,null]}}`), `recipe: step "resize" (#1): size is [1,null]: must be a whole number, or [height, width]`},
		{wrap(`{"resize":{"size":3,"size":4}}`), `recipe: step "resize" (#1): size is given twice`},
		{wrap(`{"resize":{"max_size":99999999999999999999}}`), `recipe: step "resize" (#1): max_size is 99999999999999999999: must be a whole number`},
		{wrap(`{"decode_image":{"orient":1}}`), `recipe: step "decode_image" (#1): orient is 1: must be true or false`},
		{wrap(`{"decode_image":{"to":true}}`), `recipe: step "decode_image" (#1): to is true: must be text`},
		{wrap(`{"random_flip":{"p":"0.5"}}`), `recipe: step "random_flip" (#1): p is "0.5": must be a number`},
		{wrap(`{"random_flip":{"p":1e999}}`), `recipe: step "random_flip" (#1): p is 1e999: must be a number`},
		{wrap(`{"random_resized_crop":{"scale":[1],"ratio":[1,"a"]}}`), `recipe: step "random_resized_crop" (#1): scale is [1]: must be a list of 2, each a number
recipe: step "random_resized_crop" (#1): ratio[1] is "a": must be a number`},
		{wrap(`{"files":{"pattern":3}}`), `recipe: step "files" (#1): pattern is 3: must be text`},
		{wrap(`{"files":{"pattern":"\ud800"}}`), `recipe: step "files" (#1): pattern is "\ud800", which has the lone surrogate \ud800, which means nothing`},
		{wrap(`{"files":{"paths":"a.jpg"}}`), `recipe: step "files" (#1): paths is "a.jpg": must be a list, each text`},
		{wrap(`{"files":{"paths":["a",3,null]}}`), `recipe: step "files" (#1): paths[1] is 3: must be text
recipe: step "files" (#1): paths[2] is null: must be text`},
		{wrap(`{"files":{"pairs":[["a",0],["b"],["c","d"],[1,2],["e",1.5],["f",1,2],"g",[null,1]]}}`), `recipe: step "files" (#1): pairs[1] is ["b"]: must be a [path, label] pair
recipe: step "files" (#1): pairs[2] is ["c","d"]: must be a [path, label] pair
recipe: step "files" (#1): pairs[3] is [1,2]: must be a [path, label] pair
recipe: step "files" (#1): pairs[4] is ["e",1.5]: must be a [path, label] pair
recipe: step "files" (#1): pairs[5] is ["f",1,2]: must be a [path, label] pair
recipe: step "files" (#1): pairs[6] is "g": must be a [path, label] pair
recipe: step "files" (#1): pairs[7] is [null,1]: must be a [path, label] pair`},
		{wrap(`{"files":{"label":"` + strings.Repeat("x", 100) + `","patern":""}},"bath"`), `recipe: step "files" (#1): unknown argument "patern": did you mean "pattern"? the arguments are pattern, paths, pairs, columns, metadata, fields, gives, errors, root, label, content, max_bytes
recipe: step "bath" (#2): there is no operation "bath": did you mean "batch"?`},
	} {
		r, err := recipe.Parse([]byte(c.doc))
		if err == nil || err.Error() != c.want {
			t.Errorf("%s:\ngot  %v\nwant %s", c.doc, err, c.want)
		}
		if len(r.Steps) > 0 {
			t.Errorf("%s: a recipe came with the error", c.doc)
		}
	}
}

// Anyone who points at a place in a file needs to know where a mistake is, not only how
// it reads.
func TestErrorsTellTheirPlace(t *testing.T) {
	_, err := recipe.Parse([]byte(wrap(`{"files":{"paths":["a",3]}}`)))
	var e *recipe.Error
	if !errors.As(err, &e) || e.Step != 1 || e.Name != "files" || e.Path != "args.paths[1]" {
		t.Errorf("got %+v of %v", e, err)
	}
	_, err = recipe.Recipe{Steps: []recipe.Step{{Op: "files"}, {Op: "decode_image", Args: &image.DecodeImage{Mode: "quick"}}}}.Check()
	var modes []string
	for _, e := range err.(interface{ Unwrap() []error }).Unwrap() {
		if e := e.(*recipe.Error); e.Step == 2 {
			modes = append(modes, e.Path)
		}
	}
	if diff := cmp.Diff([]string{"args.mode"}, modes); diff != "" {
		t.Error(diff)
	}
}

func FuzzParse(f *testing.F) {
	for _, doc := range []string{
		wrap(`{"files":{"pattern":"data/*/\udcff.jpg","root":"/home/me","label":"parent"}},"shuffle",{"decode_image":null,"name":"d"},{"resize":{"size":256}},{"center_crop":{"size":[3,4]}},"random_flip","random_flip",{"batch":{"size":32}}`),
		wrap(`{"files":{"pairs":[["a",1]],"paths":["b"],"max_bytes":7}},{"random_resized_crop":{"size":9,"scale":[0.1,0.2]}}`),
		wrap(`{"merge":{"of":[[{"files":{"pattern":"a"}},"decode_image"],[{"merge":{"of":[["files"]],"order":"arrival"}},"decode_image"]],"until":"shortest"}},` +
			`{"route":{"by":"label","branches":[{"when":[1,-2],"steps":["random_flip"]},{"steps":[]}]},"failures":{"on_error":"replace","max_errors":0.5,"retries":3,"wait":1,"time_limit":0.1}}`),
		wrap(strings.Repeat(`{"route":{"by":"key","branches":[{"when":["\udcff"],"steps":[`, 20) + strings.Repeat(`]}]}}`, 20)),
		wrap(`{"mix":{"of":[["files"],[{"files":{"pattern":"a"}}]],"names":["a","b"],"schedule":[{"from":0,"weights":[3,1]},{"from":9,"weights":[0,1]}],"in":"samples","until":7,"source":"","seed":7}}`),
		`{"headrace":1,"seed":5,"steps":[]}`,
		`{"headrace":1,`,
	} {
		f.Add([]byte(doc))
	}
	f.Fuzz(func(t *testing.T, doc []byte) {
		r, err := recipe.Parse(doc)
		if err != nil {
			return
		}
		_, _ = r.Check()
		_ = r.String()
		text, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		back, err := recipe.Parse(text)
		if err != nil {
			t.Fatalf("%s became %s, which is refused: %v", doc, text, err)
		}
		again, err := json.Marshal(back)
		if err != nil || string(again) != string(text) || !cmp.Equal(r, back, comparable) {
			t.Fatalf("%s became %s became %s, %v\n%s", doc, text, again, err, cmp.Diff(r, back, comparable))
		}
		if r.Fingerprint() != back.Fingerprint() {
			t.Fatalf("%s: the fingerprint changed", doc)
		}
	})
}
