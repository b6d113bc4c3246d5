package data_test

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/headrace/headrace/internal/npy"
	"github.com/headrace/headrace/internal/record"
	"github.com/headrace/headrace/op/core"
	opdata "github.com/headrace/headrace/op/data"
	"github.com/headrace/headrace/sample"
	"github.com/headrace/headrace/tensor"
)

var inFiles = sample.Schema{{Name: "bytes", Type: sample.BytesType}, {Name: "key", Type: sample.TextType}}

// archive is a file of two arrays: uint8 [2, 3, 3] and a float64 without axes.
func archive(t *testing.T, names ...string) []byte {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for i, name := range names {
		d, shape := tensor.Uint8, tensor.Shape{2, 3, 3}
		if i > 0 {
			d, shape = tensor.Float64, tensor.Shape{}
		}
		n, _ := shape.Bytes(d)
		m, err := w.Create(name + ".npy")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := m.Write(append(npy.Write(d, shape), make([]byte, n)...)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func npzArgs(t *testing.T, text string) *opdata.DecodeNPZ {
	t.Helper()
	d := &opdata.DecodeNPZ{Field: "bytes"}
	if err := json.Unmarshal([]byte(text), d); err != nil {
		t.Fatal(err)
	}
	return d
}

// run decodes a file, as a step that learns from another one first.
func run(t *testing.T, d *opdata.DecodeNPZ, first, file []byte) (out sample.Schema, v *record.Values, err error) {
	t.Helper()
	scope := func() (*core.Scope, record.Column) {
		s := &core.Scope{Schema: inFiles, Columns: record.Columns{Of: map[string]record.Column{}, Table: record.NewTable()}}
		s.Columns.Put("key", sample.TextType)
		return s, s.Columns.Put("bytes", sample.BytesType)
	}
	env := &core.Env{}
	if d.Learns() {
		s, at := scope()
		env.Room = s.Columns.Room
		it := &record.Record{}
		env.Blank(it).Bytes[at.At] = first
		gives, err := d.Learn(s)(it)
		if err != nil {
			return nil, nil, err
		}
		d.Gives.Schema = gives
	}
	env = &core.Env{}
	s, at := scope()
	part, err := d.Link(env, "decode_npz", s)
	if err != nil {
		t.Fatal(err)
	}
	env.Room = s.Columns.Room
	it := &record.Record{}
	env.Blank(it).Bytes[at.At] = file
	return s.Schema, it.Values, part.Run(t.Context(), it, nil)
}

func TestArraysOfAFile(t *testing.T) {
	file := archive(t, "image", "t")
	out, v, err := run(t, npzArgs(t, `{}`), file, file)
	if err != nil {
		t.Fatal(err)
	}
	if got := out.String(); got != "key text, image uint8 [2, 3, 3], t float64" || out[1].Type.Axes != "HWC" {
		t.Error(got, out[1].Type.Axes)
	}
	if v.Images[0].Width != 3 || v.Images[0].Height != 2 || len(v.Arrays[0].Data) != 8 || v.Bytes[0] != nil {
		t.Errorf("%+v", v)
	}

	out, _, err = run(t, npzArgs(t, `{"fields": {"when": "t"}}`), file, archive(t, "other", "t"))
	if err != nil || out.String() != "key text, when float64" {
		t.Error(out, err)
	}
	out, _, err = run(t, npzArgs(t, `{"fields": {"x": ["image", {"dtype": "uint8", "shape": [null, 3, 3]}]}}`), nil, file)
	if err != nil || out.String() != "key text, x uint8 [?, 3, 3]" {
		t.Error(out, err)
	}
}

func TestFilesThatDiffer(t *testing.T) {
	file := archive(t, "a", "t")
	for _, c := range []struct {
		args, want  string
		first, file []byte
	}{
		{`{}`, `no array "t": it has a`, file, archive(t, "a")},
		{`{}`, `it has the array "more", which the first file has not: name those to read, as in .decode_npz(["a"])`, file, archive(t, "a", "t", "more")},
		{`{}`, `array "a" is float64: must be uint8 [2, 3, 3], as the first file`, file, archive(t, "t", "a")},
		{`{}`, "not a valid zip file", file, []byte("text")},
		{`{}`, "it has no arrays", archive(t), file},
		{`{"fields": ["b"]}`, `it has no array "b": it has a, t`, file, file},
		{`{"fields": {"x": ["a", {"dtype": "uint8", "shape": [2, 3, 4]}]}}`, "must be uint8 [2, 3, 4]", nil, file},
	} {
		if _, _, err := run(t, npzArgs(t, c.args), c.first, c.file); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", c.args, err, c.want)
		}
	}
}

func TestFieldsOfArrays(t *testing.T) {
	for args, want := range map[string]string{
		`{"fields": {"key": "a"}}`:                  `has "key", and the samples have a field of this name already: give it another, as in fields={"key_array": "key"}`,
		`{"fields": {}}`:                            "is empty: give at least one field",
		`{"field": "x"}`:                            `is "x": the samples have the fields`,
		`{"gives": {"a": "bytes"}}`:                 `has "a" as bytes: arrays are numbers, "text" or "object"`,
		`{"gives": {"a": "text"}, "fields": ["b"]}`: `names "a"`,
	} {
		if _, err := npzArgs(t, args).Check(inFiles); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", args, err, want)
		}
	}
}
