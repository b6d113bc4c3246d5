package python_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/headrace/headrace/internal/recipetest"
	_ "github.com/headrace/headrace/op"
	"github.com/headrace/headrace/op/python"
	"github.com/headrace/headrace/recipe"
	"github.com/headrace/headrace/sample"
	"github.com/headrace/headrace/tensor"
)

func TestSchemasBehindFunctionsOfPython(t *testing.T) {
	const image = `"decode_image",{"resize":{"size":[4,6]}},`
	for steps, want := range map[string]string{
		`{"filter":{"function":"m:f"}}`: "bytes bytes, label int64, key text",
		image + `{"map":{"function":"m:f","gives":{"key":"text","image":{"dtype":"uint8","shape":[3,5,1]}}}},"random_flip",{"batch":{"size":2}}`:   "key text, image uint8 [3, 5, 1]",
		image + `{"map":{"function":"m:f","fields":["image"],"gives":{"image":{"dtype":"uint16","shape":[null,5,4]}}}},{"center_crop":{"size":2}}`: "image uint16 [2, 2, 4], label int64, key text",
		image + `{"map":{"function":"m:f","fields":["image","label"],"to":["x","key"],"gives":{"key":"bytes","x":{"dtype":"float32"}}}}`:           "image uint8 [4, 6, 3], label int64, key bytes, x float32",
		`{"map":{"function":"m:f","gives":{"tokens":{"dtype":"int32","shape":[null]}}}},{"bucket_batch":{"lengths":[8],"size":2}}`:                 "tokens int32 [8], tokens_length int64",
		`{"aggregate":{"function":"m:C","fields":["bytes"],"gives":{"a":"text"}}}`:                                                                 "a text",
		`{"flat_map":{"function":"m:f","fields":["bytes"],"to":["a"],"gives":{"a":"text"}}}`:                                                       "bytes bytes, label int64, key text, a text",
		`{"batch":{"size":2,"collate":{"function":"m:f","gives":{"x":{"dtype":"float32","shape":[null,7]},"names":"text"}}}}`:                      "x float32 [?, 7], names text",
	} {
		got, err := recipetest.Labelled(t, steps).Check()
		if err != nil || got.String() != want {
			t.Errorf("%s: %v, %v, want %s", steps, got, err, want)
		}
	}
}

// What was an image is one again where it could be, and what was none is none.
func TestImagesBehindFunctionsOfPython(t *testing.T) {
	for types, want := range map[string]string{
		`"uint8","shape":[3,5,3]`: "HWC", `"uint16","shape":[null,null,1]`: "HWC", `"float32","shape":[3,5,3]`: "", `"uint8","shape":[3,5,2]`: "",
		`"uint8","shape":[3,5]`: "", `"uint8","shape":[0,5,3]`: "", `"uint8","shape":[5,3,null]`: "",
	} {
		for _, before := range []string{`"decode_image"`, `"decode_image",{"layout":{"layout":"NCHW"}}`, `{"decode_npy":{"dtype":"uint8","shape":[4,4,3],"to":"image"}}`} {
			out, err := recipetest.Labelled(t, before+`,{"map":{"function":"m:f","fields":["image"],"gives":{"image":{"dtype":`+types+`}}}}`).Check()
			if err != nil {
				t.Fatal(err)
			}
			axes := want
			if before != `"decode_image"` {
				axes = ""
			}
			if got := out[out.Find("image")].Type.Axes; got != axes {
				t.Errorf("%s after %s has the axes %q, want %q", types, before, got, axes)
			}
		}
	}
}

// Where a step does not say what it gives, nothing is known after it, and nothing
// there is a mistake yet.
func TestWhatIsNotSaidIsNotKnown(t *testing.T) {
	r := recipetest.Labelled(t, `{"map":{"function":"m:f"}},"decode_image",{"resize":{"size":4}},{"batch":{"size":2}}`)
	all, err := r.Schemas()
	if err != nil || all[0] == nil || all[1] != nil || all[3] != nil {
		t.Errorf("%v, %v", all, err)
	}
	if out, err := r.Check(); out != nil || err != nil {
		t.Errorf("%v, %v", out, err)
	}
	if out, err := recipetest.Labelled(t, `{"batch":{"size":2,"collate":{"function":"m:f","fields":["key"]}}}`).Check(); out != nil || err != nil {
		t.Errorf("%v, %v", out, err)
	}
}

// What the workers are, and what a batch is said to be, does not matter to which
// samples come out; which function makes it does.
func TestFingerprintsOfCollate(t *testing.T) {
	one := recipetest.Labelled(t, `{"batch":{"size":2,"collate":{"function":"m:f"}}}`).Fingerprint()
	if other := recipetest.Labelled(t, `{"batch":{"size":2,"collate":{"function":"m:f","workers":3,"where":"thread","gives":{"x":"text"}}}}`).Fingerprint(); other != one {
		t.Error("workers change the fingerprint")
	}
	for _, steps := range []string{`{"batch":{"size":2,"collate":{"function":"m:g"}}}`, `{"batch":{"size":2,"collate":{"function":"m:f","fields":["key"]}}}`, `{"batch":{"size":2}}`} {
		if recipetest.Labelled(t, steps).Fingerprint() == one {
			t.Errorf("%s has the same fingerprint", steps)
		}
	}
}

func TestCollateIsShown(t *testing.T) {
	r := recipetest.Labelled(t, `{"batch":{"size":2,"collate":{"function":"m:f","gives":{"x":"text"}}}}`)
	if got, want := r.String(), `→ batch(size=2, collate="m:f")`; !strings.HasSuffix(got, want) {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestWhatFunctionsOfPythonRefuse(t *testing.T) {
	for steps, want := range map[string]string{
		`"map"`:                          `step "map" (#2): lacks the argument function`,
		`{"map":{"function":"augment"}}`: `step "map" (#2): function is "augment": must be "module:name", such as "transforms:augment"`,
		`{"filter":{"function":":f"}}`:   `step "filter" (#2): function is ":f": must be "module:name", such as "transforms:augment"`,
		`{"aggregate":{}}`:               `step "aggregate" (#2): lacks the argument function`,
		`{"aggregate":{"function":"m:C","where":"set:a"}}`:                  `step "aggregate" (#2): where is "set:a": one worker has the object for an epoch, and cannot be shared`,
		`{"aggregate":{"function":"m:C","where":"here:a"}}`:                 `step "aggregate" (#2): where is "here:a": one worker has the object for an epoch, and cannot be shared`,
		`{"aggregate":{"function":"m:C","where":"there"}}`:                  `step "aggregate" (#2): where is "there": did you mean "here"? must be "process", "thread" or "here"`,
		`{"aggregate":{"function":"m:C","where":"here","seed":["random"]}}`: `step "aggregate" (#2): seed is given with where="here": it would seed the program's own generators; use an argument rng`,
		`{"aggregate":{"function":"m:C","fields":["x"],"seed":["time"]}}`:   "step \"aggregate\" (#2): fields[0] is an unknown field \"x\": the fields are bytes, label, key\nstep \"aggregate\" (#2): seed[0] is \"time\": must be \"random\", \"numpy\" or \"torch\"",
		`{"flat_map":{"function":"m:"}}`:                                    `step "flat_map" (#2): function is "m:": must be "module:name", such as "transforms:augment"`,
		`{"map":{"function":"m:f","where":"main"}}`:                         `step "map" (#2): where is "main": that is for the last steps, after batch, which the Python package carries out by itself`,
		`{"map":{"function":"m:f","where":"threads","workers":0,"seed":["random","nunpy","random"]}}`: `step "map" (#2): where is "threads": did you mean "thread"? must be "process", "thread" or "here"
step "map" (#2): workers is 0: must be from 1 to 256
step "map" (#2): seed[1] is "nunpy": did you mean "numpy"? must be "random", "numpy" or "torch"
step "map" (#2): seed[2] is "random", a second time`,
		`{"filter":{"function":"m:f","fields":["byte","key","key"]}}`: `step "filter" (#2): fields[2] is "key", a second time
step "filter" (#2): fields[0] is an unknown field "byte": did you mean "bytes"? the fields are bytes, label, key`,
		`{"filter":{"function":"m:f","fields":[]}}`:                                                  `step "filter" (#2): fields is empty: give names of fields, or null for the whole sample`,
		`{"map":{"function":"m:f","to":["a"]}}`:                                                      `step "map" (#2): to is given without fields: a function that is given whole samples names its results itself`,
		`{"map":{"function":"m:f","fields":["key"],"to":[]}}`:                                        `step "map" (#2): to is empty: give names of fields, or null for those of fields`,
		`{"map":{"function":"m:f","fields":["key"],"to":["a","a"]}}`:                                 `step "map" (#2): to[1] is "a", a second time`,
		`{"map":{"function":"m:f","fields":["key"],"to":[""]}}`:                                      `step "map" (#2): to[0] is empty: give the name of a field`,
		`{"map":{"function":"m:f","gives":{}}}`:                                                      `step "map" (#2): gives is empty: give the type of at least one field, or null to let the engine find out`,
		`{"map":{"function":"m:f","gives":{"":"text"}}}`:                                             `step "map" (#2): gives is not possible: sample: field 0 has no name`,
		`{"map":{"function":"m:f","gives":{"a":{"dtype":"int64","shape":[4294967296,4294967296]}}}}`: `step "map" (#2): gives is too large: the field "a" is int64 [4294967296, 4294967296]`,
		`{"map":{"function":"m:f","fields":["key","label"],"gives":{"key":"text","x":"bytes"}}}`:     "step \"map\" (#2): gives names \"x\": the function gives key, label\nstep \"map\" (#2): gives lacks the field \"label\", which the function gives",
		`{"batch":{"size":2,"collate":{"function":"f","fields":["key","kex"],"gives":{"a":"bytes"}}}}`: `step "batch" (#2): collate.function is "f": must be "module:name", such as "transforms:augment"
step "batch" (#2): collate.fields[1] is an unknown field "kex": did you mean "key"? the fields are bytes, label, key
step "batch" (#2): collate.gives has the field "a" as bytes: a batch has arrays, text and objects; use an array of uint8`,
		`{"batch":{"collate":{"function":"m:f"}}}`:                                                                                                      `step "batch" (#2): has no size, or 0: needs either size or global_size, at least 1`,
		`{"batch":{"size":2,"collate":{"function":"m:f"}},"failures":{"on_error":"replace"}}`:                                                           `step "batch" (#2): failures.on_error is "replace": collate fails for a whole batch, and no other batch can replace it: use raise or skip`,
		`{"map":{"function":"m:f","gives":{"a":"text"}}},{"batch":{"size":2},"failures":{"on_error":"skip"}}`:                                           `step "batch" (#3): failures is given, but no sample fails in batch: put it at steps that read or change samples`,
		`"decode_image",{"resize_to_bucket":{"sizes":[[2,3],[3,2]]}},{"batch":{"size":2,"collate":{"function":"m:f"}}}`:                                 `step "batch" (#4): has collate, which is given samples in their order, and cannot follow resize_to_bucket, after which each batch has images of one size: use resize, or batch without collate`,
		`{"map":{"function":"m:f","gives":{"a":"bytes"}}},{"batch":{"size":1}}`:                                                                         `step "batch" (#3): cannot stack the field "a", which is bytes; put decode_image or decode_npy before it, leave the field out: drop("a"), or keep the bytes as they are, as objects: the source or function that makes them says gives={"a": object}`,
		`"decode_image",{"map":{"function":"m:f","fields":["image"],"gives":{"image":{"dtype":"float32","shape":[null,null,3]}}}},{"batch":{"size":1}}`: `step "batch" (#4): cannot stack arrays of different shapes: the field "image" is float32 [?, ?, 3]`,
	} {
		_, err := recipetest.Labelled(t, steps).Check()
		if got := strings.ReplaceAll(errText(err), "recipe: ", ""); got != want {
			t.Errorf("%s:\n%s\nwant\n%s", steps, got, want)
		}
	}
}

func errText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func TestGivesThatCannotBeRead(t *testing.T) {
	const takes = `must be an object like {"image": {"dtype": "uint8", "shape": [224, 224, 3]}, "caption": "text"}`
	for gives, is := range map[string]string{
		`[]`: "[]", `"text"`: `"text"`, `{"a":"txt"}`: "an object", `{"a":"text","a":"text"}`: "an object", `{"a":{"shape":[1]}}`: "an object", `{"a":{"dtype":"int65"}}`: "an object",
		`{"a":{"dtype":"int64","dtype":"int64"}}`: "an object", `{"a":{"dtype":"int64","shape":[-1]}}`: "an object", `{"a":{"dtype":"int64","axes":"HWC"}}`: "an object", `{"a":null}`: "an object",
		`{"a":{"dtype":8}}`: "an object", `{"a":3}`: "an object",
	} {
		_, err := recipe.Parse([]byte(`{"headrace":1,"steps":[{"map":{"function":"m:f","gives":` + gives + `}}]}`))
		if want := `recipe: step "map" (#1): gives is ` + is + ": " + takes; errText(err) != want {
			t.Errorf("%s: %v\nwant %s", gives, err, want)
		}
	}
	// null and what is left out mean a number.
	r := recipetest.Labelled(t, `{"map":{"function":"m:f","gives":{"a":{"dtype":"int8","shape":null},"b":{"dtype":"bool"}}}}`)
	if out, err := r.Check(); err != nil || out.String() != "a int8, b bool" {
		t.Errorf("%v, %v", out, err)
	}
}

// How a function is called makes no other samples of it, and so is no part of states.
func TestFingerprintsOfFunctions(t *testing.T) {
	of := func(args string) string {
		return recipetest.Labelled(t, `{"map":{"function":"m:f"`+args+`}}`).Fingerprint()
	}
	one := of("")
	for _, same := range []string{`,"workers":3`, `,"where":"thread"`, `,"copy":true`, `,"gives":{"key":"text"}`, `,"seed":[]`, `,"fields":null`} {
		if of(same) != one {
			t.Errorf("%s makes another recipe", same)
		}
	}
	fields := `,"fields":["key"]`
	if of(fields) != of(fields+`,"to":["key"]`) {
		t.Error("to makes another recipe where it says what is meant without")
	}
	seen := map[string]string{one: "nothing"}
	for _, other := range []string{fields, fields + `,"to":["a"]`, `,"seed":["numpy"]`, `,"seed":["torch"]`} {
		if before, ok := seen[of(other)]; ok {
			t.Errorf("%s and %s are the same recipe", other, before)
		}
		seen[of(other)] = other
	}
}

// Fields keep their order, also through YAML.
func TestTheOrderOfWhatIsGiven(t *testing.T) {
	r := recipe.Recipe{Steps: []recipe.Step{{Args: &python.Map{Python: recipe.Python{Function: "m:f.<locals>.<lambda>#2"}, Gives: recipe.Gives{Schema: sample.Schema{
		{Name: "z", Type: sample.TextType}, {Name: "a", Type: sample.TensorType(tensor.Int16, tensor.Unknown, 3)}, {Name: "m", Type: sample.BytesType}, {Name: "b", Type: sample.TensorType(tensor.Bool)}}}}}}}.Complete()
	text, err := r.MarshalJSON()
	const want = `{"map":{"function":"m:f.<locals>.<lambda>#2","where":"process","copy":false,"gives":{"z":"text","a":{"dtype":"int16","shape":[null,3]},"m":"bytes","b":{"dtype":"bool","shape":[]}}}}`
	if err != nil || !strings.Contains(string(text), want) {
		t.Errorf("%s, %v", text, err)
	}
	for _, written := range [][]byte{text, r.YAML()} {
		f, err := recipe.Read("r", written, recipe.Variables{})
		if diff := cmp.Diff(r, f.Recipe); err != nil || diff != "" || !reflect.DeepEqual(r.Steps[0].Args, f.Recipe.Steps[0].Args) {
			t.Errorf("%s: %v\n%s", written, err, diff)
		}
	}
}
