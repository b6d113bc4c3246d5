package data_test

import (
	"strings"
	"testing"

	_ "github.com/headrace/headrace/op"
	"github.com/headrace/headrace/recipe"
)

func TestFields(t *testing.T) {
	const files = `{"files":{"paths":["a.jpg"],"columns":{"score":{"float32":[1]},"name":{"text":["x"]}}}},"decode_image",`
	for _, c := range []struct{ steps, want string }{
		{`{"select":{"fields":["name","image"]}}`, "name text, image uint8 [?, ?, 3]"},
		{`{"drop":{"fields":["key","score"]}}`, "image uint8 [?, ?, 3], name text"},
		{`{"rename":{"fields":{"image":"pixels","score":"weight"}}}`, "pixels uint8 [?, ?, 3], weight float32, name text, key text"},
		{`{"rename":{"fields":{"name":"key","key":"name"}}}`, "image uint8 [?, ?, 3], score float32, key text, name text"},
		{`{"copy":{"field":"image","to":["a","b"]}}`, "image uint8 [?, ?, 3], score float32, name text, key text, a uint8 [?, ?, 3], b uint8 [?, ?, 3]"},
		{`{"copy":{"field":"name","to":["a"]}}`, "image uint8 [?, ?, 3], score float32, name text, key text, a text"},
		{`{"rename":{"fields":{"name":"name"}}}`, "image uint8 [?, ?, 3], score float32, name text, key text"},

		{`"select"`, `step "select" (#3): lacks the argument fields`},
		{`{"drop":{"fields":[]}}`, `step "drop" (#3): fields is empty: give names of image, score, name, key`},
		{`{"drop":{"fields":["scor"]}}`, `step "drop" (#3): fields[0] is an unknown field "scor": did you mean "score"? the fields are image, score, name, key`},
		{`{"select":{"fields":["key","key"]}}`, `step "select" (#3): fields[1] is "key", a second time`},
		{`{"drop":{"fields":["image","score","name","key"]}}`, `step "drop" (#3): fields are all the fields: nothing would be left of a sample`},
		{`{"rename":{"fields":{"image":"score"}}}`, `step "rename" (#3): fields renames "image" to "score", the name of another field`},
		{`{"copy":{"field":"imag","to":["a"]}}`, `step "copy" (#3): field is an unknown field "imag": did you mean "image"? the fields are image, score, name, key`},
		{`{"copy":{"field":"image","to":[]}}`, `step "copy" (#3): to is empty: give names of new fields`},
		{`{"copy":{"field":"image","to":["score"]}}`, `step "copy" (#3): to[0] is "score": the samples have a field of this name already`},
		{`{"copy":{"field":"image","to":["a",""]}}`, `step "copy" (#3): to[1] is empty: give the name of a new field`},
		{`{"copy":{"field":"image","to":["a","a"]}}`, `step "copy" (#3): to[1] is "a", a second time`},
		{`{"rename":{"fields":{"image":""}}}`, `step "rename" (#3): fields gives "image" no name`},
		{`{"rename":{"fields":{"image":"a","image":"b"}}}`, `step "rename" (#3): fields is an object: must be an object like {old name: new name}`},
		{`{"rename":{"fields":{"bytes":"a"}}}`, `step "rename" (#3): fields[0] is an unknown field "bytes": the fields are image, score, name, key`},
		{`{"drop":{"fields":["key"]},"failures":{"on_error":"skip"}}`, `step "drop" (#3): failures is given, but no sample fails in drop: put it at steps that read or change samples`},
	} {
		r, err := recipe.Parse([]byte(`{"headrace":1,"steps":[` + files + c.steps + `]}`))
		got := ""
		if err == nil {
			schema, wrong := r.Check()
			got, err = schema.String(), wrong
		}
		if err != nil {
			got = strings.TrimPrefix(err.Error(), "recipe: ")
		}
		if got != c.want {
			t.Errorf("%s:\n%s\nwant\n%s", c.steps, got, c.want)
		}
	}
}
