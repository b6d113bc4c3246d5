package column_test

import (
	"strings"
	"testing"

	_ "github.com/headrace/headrace/op"
	"github.com/headrace/headrace/recipe"
)

const table = `{"files":{"paths":["a.jpg"],"content":false,"columns":{` +
	`"f":{"float32":[1]},"d":{"float64":[1]},"n":{"int64":[1]},"b":{"bool":[true]},"name":{"text":["x"]}}}},` +
	`{"select":{"fields":["f","d","n","b","name"]}}`

// What comes out of a step, or what is wrong with it, is known before anything is read.
func TestSteps(t *testing.T) {
	const rest = ", n int64, b bool, name text"
	for _, c := range []struct{ steps, want string }{
		{`{"cast":{"fields":["f"],"dtype":"int8"}}`, "f int8, d float64" + rest},
		{`{"cast":{"fields":["f","d"],"dtype":"bfloat16"}}`, "f bfloat16, d bfloat16" + rest},
		{`{"fill_nan":{"fields":["f"],"value":0}}`, "f float32, d float64" + rest},
		{`{"clip":{"fields":["f"],"min":0}}`, "f float32, d float64" + rest},
		{`{"log1p":{"fields":["f","d","n"]}}`, "f float32, d float64, n float32, b bool, name text"},
		{`{"scale":{"fields":["d","n"],"mean":1,"std":2}}`, "f float32, d float64, n float32, b bool, name text"},
		{`{"bucketize":{"fields":["f"],"boundaries":[1,2.5]}}`, "f int64, d float64" + rest},
		{`{"hash_buckets":{"fields":["n","name"],"buckets":9}}`, "f float32, d float64, n int64, b bool, name int64"},
		{`{"one_hot":{"fields":["n"],"classes":3}}`, "f float32, d float64, n float32 [3], b bool, name text"},
		{`{"one_hot":{"fields":["n"],"classes":3}},{"concat":{"fields":["d","n","b"],"to":"x","dtype":"float64"}}`,
			"f float32, x float64 [5], name text"},
		{`{"concat":{"fields":["f","d"],"to":"f"}}`, "f float32 [2]" + rest},
		{`{"concat":{"fields":["f","d"],"to":"x"}},{"scale":{"fields":["x"],"mean":[1,2],"std":3}}`, "x float32 [2]" + rest},
		{`{"batch":{"size":4}},{"one_hot":{"fields":["n"],"classes":3}},{"concat":{"fields":["d","n"],"to":"x"}}`,
			"f float32 [?], x float32 [?, 4], b bool [?], name text [?]"},
		{`{"batch":{"size":4,"drop_last":true}},{"concat":{"fields":["f","d"],"to":"x"}}`,
			"x float32 [4, 2], n int64 [4], b bool [4], name text [4]"},
		{`{"batch":{"size":4}},{"hash_buckets":{"fields":["name"],"buckets":9}},{"unbatch":{}}`,
			"f float32, d float64, n int64, b bool, name int64"},

		{`{"cast":{"dtype":"int8"}}`, `step "cast" (#3): lacks the argument fields`},
		{`{"cast":{"fields":[],"dtype":"int8"}}`, `step "cast" (#3): fields is empty: give names of f, d, n, b, name`},
		{`{"cast":{"fields":["ff"],"dtype":"int8"}}`,
			`step "cast" (#3): fields[0] is an unknown field "ff": did you mean "f"? the fields are f, d, n, b, name`},
		{`{"cast":{"fields":["f","f"],"dtype":"int8"}}`, `step "cast" (#3): fields[1] is "f", a second time`},
		{`{"cast":{"fields":["f"],"dtype":"int7"}}`, `step "cast" (#3): dtype is "int7": did you mean "int8"? must be `},
		{`{"cast":{"fields":["name"],"dtype":"int8"}}`, `step "cast" (#3): fields[0] is "name", which is text: must be numbers; ` +
			`read it with a type, (name, "float32"), or make buckets of it by hash_buckets`},
		{`{"cast":{"fields":["f"],"dtype":"int8"},"failures":{"retries":2}}`,
			`step "cast" (#3): failures tries again, but the same values give the same result: leave retries out`},
		{`{"scale":{"fields":["f"]}}`, `step "scale" (#3): needs mean and std, or min and max: give one of these pairs`},
		{`{"scale":{"fields":["f"],"mean":1}}`, `step "scale" (#3): needs mean and std, or min and max: give one of these pairs`},
		{`{"scale":{"fields":["f"],"mean":1,"std":1,"min":0,"max":1}}`,
			`step "scale" (#3): needs mean and std, or min and max: give one of these pairs`},
		{`{"scale":{"fields":["f"],"mean":1,"std":0}}`, `step "scale" (#3): std is 0: must be numbers above 0`},
		{`{"scale":{"fields":["f"],"min":2,"max":2}}`, `step "scale" (#3): max is 2: must be above min, which is 2`},
		{`{"scale":{"fields":["f"],"mean":"x","std":1}}`, `step "scale" (#3): mean is "x": must be a number, or a list of numbers`},
		{`{"scale":{"fields":["f"],"mean":[1,2],"std":[1,2,3]}}`,
			`step "scale" (#3): has lists of 2 and of 3 numbers: must be of one length`},
		{`{"scale":{"fields":["f"],"mean":[1,2],"std":1}}`,
			`step "scale" (#3): fields[0] is "f", which is float32: must have 2 numbers along its last axis, one for each in the lists`},
		{`{"batch":{"size":2,"drop_last":true}},{"scale":{"fields":["f"],"mean":[1,2],"std":1}}`,
			`step "scale" (#4): fields[0] is "f", which is float32: must have 2 numbers along its last axis, one for each in the lists`},
		{`{"clip":{"fields":["f"]}}`, `step "clip" (#3): lacks min and max: give at least one of them`},
		{`{"clip":{"fields":["f"],"min":2,"max":1}}`, `step "clip" (#3): min is 2: must be at most max, which is 1`},
		{`{"clip":{"fields":["n"],"min":0.5}}`,
			`step "clip" (#3): fields[0] is "n", which is int64: has whole numbers, ` +
				`and 0.5 is none: round it, or put cast before this step`},
		{`{"clip":{"fields":["b"],"min":0}}`, `step "clip" (#3): fields[0] is "b", which is bool: has no numbers to limit`},
		{`{"cast":{"fields":["n"],"dtype":"uint8"}},{"clip":{"fields":["n"],"max":-1}}`,
			`step "clip" (#4): fields[0] is "n", which is uint8: has no number from -Inf to -1: its dtype has those from 0 to 255`},
		{`{"fill_nan":{"fields":["f"]}}`, `step "fill_nan" (#3): lacks the argument value`},
		{`{"fill_nan":{"fields":["n"],"value":0}}`, `step "fill_nan" (#3): fields[0] is "n", which is int64: ` +
			`has no NaN; say what a null is in hr.read: (name, dtype, value)`},
		{`{"fill_nan":{"fields":["f"],"value":1e300}}`, `step "fill_nan" (#3): fields[0] is "f", which is float32: cannot have 1e+300`},
		{`{"log1p":{"fields":["name"]}}`, `step "log1p" (#3): fields[0] is "name", which is text: must be numbers; `},
		{`{"bucketize":{"fields":["f"]}}`, `step "bucketize" (#3): lacks the argument boundaries`},
		{`{"bucketize":{"fields":["f"],"boundaries":[]}}`, `step "bucketize" (#3): boundaries is empty: give at least one number`},
		{`{"bucketize":{"fields":["f"],"boundaries":[1,1]}}`, `step "bucketize" (#3): boundaries[1] is 1, after 1: must rise`},
		{`{"bucketize":{"fields":["f"],"boundaries":[1,3,2]}}`, `step "bucketize" (#3): boundaries[2] is 2, after 3: must rise`},
		{`{"hash_buckets":{"fields":["name"]}}`, `step "hash_buckets" (#3): lacks the argument buckets`},
		{`{"hash_buckets":{"fields":["name"],"buckets":0}}`, `step "hash_buckets" (#3): buckets is 0: must be at least 1`},
		{`{"hash_buckets":{"fields":["f"],"buckets":9}}`, `step "hash_buckets" (#3): fields[0] is "f", which is float32: ` +
			`must be whole numbers: put cast or bucketize before this step`},
		{`{"one_hot":{"fields":["n"],"classes":0}}`, `step "one_hot" (#3): classes is 0: must be from 1 to 1000000`},
		{`{"one_hot":{"fields":["f"],"classes":2}}`, `step "one_hot" (#3): fields[0] is "f", which is float32: ` +
			`must be whole numbers: put cast or bucketize before this step`},
		{`{"concat":{"fields":["f","d"]}}`, `step "concat" (#3): lacks the argument to`},
		{`{"concat":{"fields":["f","d"],"to":"n"}}`, `step "concat" (#3): to is "n": there is a field of this name already`},
		{`{"concat":{"fields":["f","name"],"to":"x"}}`, `step "concat" (#3): fields[1] is "name", which is text: must be numbers; `},
		{`"decode_image",{"cast":{"fields":["image"],"dtype":"float32"}}`, `step "decode_image" (#3): `},
	} {
		r, err := recipe.Parse([]byte(`{"headrace":1,"steps":[` + table + "," + c.steps + `]}`))
		got := ""
		if err == nil {
			schemas, wrong := r.Schemas()
			got, err = schemas[len(schemas)-1].String(), wrong
		}
		if err != nil {
			got = strings.TrimPrefix(err.Error(), "recipe: ")
		}
		if got != c.want && !(strings.HasSuffix(c.want, " ") && strings.HasPrefix(got, c.want)) {
			t.Errorf("%s:\n%s\nwant\n%s", c.steps, got, c.want)
		}
	}
}

// Images have steps of their own, and rows of different sizes have no columns.
func TestWhatHasNoColumns(t *testing.T) {
	for _, c := range []struct{ steps, want string }{
		{`{"files":{"pattern":"a"}},"decode_image",{"cast":{"fields":["image"],"dtype":"float32"}}`,
			`which is uint8 [?, ?, 3]: must be numbers of a table: normalize is for images`},
		{`{"files":{"pattern":"a"}},{"cast":{"fields":["bytes"],"dtype":"float32"}}`, `which is bytes: must be numbers`},
		{`{"files":{"pattern":"a"}},{"decode_npy":{"dtype":"float32"}},{"concat":{"fields":["array"],"to":"x"}}`,
			`which is float32 [?]: must have a last axis of the same length in all samples, at least 1`},
		{`{"files":{"pattern":"a","label":"parent"}},{"decode_npy":{"dtype":"float32","shape":[2,3]}},` +
			`{"concat":{"fields":["array","label"],"to":"x"}}`,
			`which is int64: has 0 axes, and others have 2`},
		{`{"files":{"pattern":"a"}},{"decode_npy":{"dtype":"float32","shape":[2,3]}},` +
			`{"copy":{"field":"array","to":["b"]}},{"one_hot":{"fields":["b"],"classes":2}}`, `must be whole numbers`},
	} {
		r, err := recipe.Parse([]byte(`{"headrace":1,"steps":[` + c.steps + `]}`))
		if err == nil {
			_, err = r.Check()
		}
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v\nwant %s", c.steps, err, c.want)
		}
	}
}
