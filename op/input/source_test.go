package input_test

import (
	"strings"
	"testing"

	"github.com/headrace/headrace/op/input"
	"github.com/headrace/headrace/recipe"
	"github.com/headrace/headrace/sample"
	"github.com/headrace/headrace/tensor"
)

func TestSchemaOfObjects(t *testing.T) {
	for args, want := range map[string]string{
		`{"function":"a:b","length":3,"gives":{"x":{"dtype":"float32","shape":[null,4]},"name":"text"}}`: "x float32 [?, 4], name text, key text",
		`{"function":"a:b","gives":{"key":"text","raw":"bytes"}}`:                                        "key text, raw bytes",
		`{"function":"a:b"}`: "",
	} {
		r, err := recipe.Parse([]byte(`{"headrace":1,"seed":0,"steps":[{"source":` + args + `}]}`))
		if err != nil {
			t.Fatal(err)
		}
		s, err := r.Check()
		if got := s.String(); err != nil || got != want {
			t.Errorf("%s gives %q, %v, want %q", args, got, err, want)
		}
	}
	image := input.Object{Function: "a:b", Gives: recipe.Gives{Schema: sample.Schema{{Name: "image", Type: sample.TensorType(tensor.Uint8, tensor.Unknown, 7, 3)}}}}
	if s, err := image.Check(nil); err != nil || s[0].Type.Axes != "HWC" {
		t.Errorf("%v, %v", s, err)
	}
}

func TestObjectsThatCannotBe(t *testing.T) {
	for steps, want := range map[string]string{
		`{"source":{}}`:                                                              `lacks the argument function`,
		`{"source":{"function":"ab"}}`:                                               `function is "ab": must be "module:name"`,
		`{"source":{"function":"a:b","length":-1}}`:                                  `length is -1: must be from 0 to 281474976710656`,
		`{"source":{"function":"a:b","fields":[]}}`:                                  `fields is empty: give names of fields, or null for dicts`,
		`{"source":{"function":"a:b","fields":[""]}}`:                                `fields[0] is empty: give the name of a field`,
		`{"source":{"function":"a:b","fields":["a","a"]}}`:                           `fields[1] is "a", a second time`,
		`{"source":{"function":"a:b","fields":["a"],"gives":{"b":"text"}}}`:          `gives names "b": the function gives a`,
		`{"source":{"function":"a:b","gives":{"key":{"dtype":"int64","shape":[]}}}}`: `gives has "key" as int64: that is the name of a sample, which is text; return it under another name, such as "keys"`,
		`{"source":{"function":"a:b"}},"shuffle"`:                                    `step "shuffle" (#2): comes after "source", which is iterated over in its own order: use a source with a length, or let the object shuffle`,
		`{"files":{"pattern":"x"}},{"source":{"function":"a:b"}}`:                    `step "source" (#2): is a source and can only begin a recipe, or what merge puts together`,
	} {
		r, err := recipe.Parse([]byte(`{"headrace":1,"seed":0,"steps":[` + steps + `]}`))
		if err == nil {
			_, err = r.Check()
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s\ngot  %v\nwant %s", steps, err, want)
		}
	}
}

// How many samples an object has, and what they are, are not what a recipe is: states
// say the first, and hold the second against nothing.
func TestFingerprintsOfObjects(t *testing.T) {
	of := func(args string) string {
		r, err := recipe.Parse([]byte(`{"headrace":1,"seed":0,"steps":[{"source":` + args + `}]}`))
		if err != nil {
			t.Fatal(err)
		}
		return r.Fingerprint()
	}
	same := of(`{"function":"a:b","length":3}`)
	if of(`{"function":"a:b","length":4,"gives":{"x":"text"}}`) != same {
		t.Error("the length or the types count")
	}
	for _, other := range []string{`{"function":"a:b"}`, `{"function":"a:c","length":3}`, `{"function":"a:b","length":3,"fields":["x"]}`} {
		if of(other) == same {
			t.Errorf("%s is taken to be the same", other)
		}
	}
}
