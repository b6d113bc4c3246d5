package input_test

import (
	"encoding/json"
	"strings"
	"testing"

	_ "github.com/headrace/headrace/op"
	"github.com/headrace/headrace/op/input"
	"github.com/headrace/headrace/recipe"
	"github.com/headrace/headrace/sample"
	"github.com/headrace/headrace/tensor"
)

func read(t *testing.T, args string) recipe.Recipe {
	t.Helper()
	r, err := recipe.Parse([]byte(`{"headrace":1,"steps":[{"read":` + args + `},{"batch":{"size":2}}]}`))
	if err != nil {
		t.Fatal(args, err)
	}
	return r
}

// What a step reads is known when its files are, or when gives says so.
func TestSchemaOfRead(t *testing.T) {
	r := read(t, `{"from":"a.tar","fields":{"image":"x.bin","label":["cls","int64"]}}`)
	if s, err := r.Check(); err != nil || s != nil {
		t.Errorf("%v %v", s, err)
	}
	r.Steps[0].Args.(*input.ReadShards).Gives.Schema = sample.Schema{
		{Name: "image", Type: sample.TensorType(tensor.Uint8, 8, 9, 3)}, {Name: "label", Type: sample.TensorType(tensor.Int64)},
	}
	s, err := r.Check()
	if err != nil || s[0].Type.Axes != "NHWC" && s[0].Type.Axes != "HWC" || s[2].Name != "key" {
		t.Errorf("%v %v", s, err)
	}
}

func TestMistakesOfRead(t *testing.T) {
	for args, says := range map[string]string{
		`{}`:                                             "lacks the argument from",
		`{"from":""}`:                                    "from[0] is empty",
		`{"from":["a","b\u0000"]}`:                       "from[1] contains a zero byte",
		`{"from":"a","fields":{}}`:                       "fields is empty",
		`{"from":"a","fields":{"":"b"}}`:                 "has a field without a name",
		`{"from":"a","fields":{"b":""}}`:                 `does not say what "b" is`,
		`{"from":"a","fields":["b","b"]}`:                `has two fields "b"`,
		`{"from":"a","rows":"age >> 3"}`:                 `rows has ">" where a column or a value must be`,
		`{"from":"a","root":"b"}`:                        "must be the absolute path of a folder",
		`{"from":"a","max_bytes":-1}`:                    "must be at least 1",
		`{"from":"a","gives":{"key":{"dtype":"int64"}}}`: "that is the name of a sample, which is text",
	} {
		if _, err := read(t, args).Check(); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v, want …%s…", args, err, says)
		}
	}
	for _, args := range []string{`{"from":3}`, `{"from":[3]}`, `{"from":"a","fields":3}`, `{"from":"a","fields":[3]}`, `{"from":"a","fields":{"a":3}}`, `{"from":"a","fields":{"a":["b"]}}`, `{"from":"a","fields":{"a":["b","int65"]}}`, `{"from":"a","fields":{"a":["b","int64",0,0]}}`,
		`{"from":"a","fields":{"a":["b","int64",[1]]}}`, `{"from":"a","fields":{"a":["b","int64",null]}}`,
		`{"from":"a","fields":{"a":["b","int64",{}]}}`,
		`{"from":"a","fields":{"a":["b",null]}}`, `{"from":"a","fields":{"a":["b","is_null",0]}}`, `{"from":"a","fields":{"a":["b","object"]}}`} {
		if _, err := recipe.Parse([]byte(`{"headrace":1,"steps":[{"read":` + args + `}]}`)); err == nil {
			t.Errorf("%s was read", args)
		}
	}
}

// The fingerprint does not depend on where files are, nor on what is known of them.
func TestIdentityOfRead(t *testing.T) {
	one := read(t, `{"from":"/data/train-{0..9}.tar","root":"/x","fields":{"label":"cls"}}`)
	moved := read(t, `{"from":"other/train-{0..9}.tar","fields":{"label":"cls"},"gives":{"label":{"dtype":"int64"}}}`)
	other := read(t, `{"from":"/data/val-{0..9}.tar","root":"/x","fields":{"label":"cls"}}`)
	fields := read(t, `{"from":"/data/train-{0..9}.tar","fields":{"label":"json.label"}}`)
	if one.Fingerprint() != moved.Fingerprint() || one.Fingerprint() == other.Fingerprint() || one.Fingerprint() == fields.Fingerprint() {
		t.Error("fingerprints")
	}
	rows := func(text string) string { return read(t, `{"from":"/data/a.parquet","rows":"`+text+`"}`).Fingerprint() }
	if rows("a>1 and b in ['x']") != rows("(1 < a) and b in ('x',)") || rows("a > 1") == rows("a > 2") {
		t.Error("the fingerprint is not that of the rows")
	}
	if read(t, `{"from":"/data/birds"}`).Fingerprint() != read(t, `{"from":"/mnt/copy"}`).Fingerprint() {
		t.Error("the fingerprint of a folder depends on its name")
	}
	if text, err := json.Marshal(one.Steps[0].Args); err != nil || !strings.Contains(string(text), `"fields":{"label":"cls"}`) {
		t.Errorf("%s %v", text, err)
	}
}
