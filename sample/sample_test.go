package sample_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"

	"github.com/headrace/headrace/sample"
	"github.com/headrace/headrace/tensor"

	"pgregory.net/rapid"
)

var image = sample.TensorType(tensor.Uint8, tensor.Unknown, tensor.Unknown, 3)

func files() sample.Schema {
	return sample.Schema{
		{Name: "key", Type: sample.TextType},
		{Name: "bytes", Type: sample.BytesType},
		{Name: "label", Type: sample.TensorType(tensor.Int64)},
	}
}

func TestSchemaText(t *testing.T) {
	s := files().Without("bytes").With("image", image)
	if got, want := s.String(), "key text, label int64, image uint8 [?, ?, 3]"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got, want := (sample.Schema{}).String(), ""; got != want {
		t.Errorf("the empty schema is %q", got)
	}
}

// Schemas of two edges often share a prefix; a method that wrote into shared memory
// would change another edge.
func TestMethodsDoNotChangeTheirSchema(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.SampledFrom([]string{"a", "b", "c", "d", "e"})
		s := make(sample.Schema, 0, 16) // with room, so that append is tempted
		for range rapid.IntRange(0, 8).Draw(t, "steps") {
			before := append(sample.Schema{}, s...)
			n := name.Draw(t, "name")
			var next sample.Schema
			if rapid.Bool().Draw(t, "with") {
				next = s.With(n, rapid.SampledFrom([]sample.Type{image, sample.TextType, sample.BytesType}).Draw(t, "type"))
				if next.Find(n) < 0 {
					t.Fatalf("%v lacks %q", next, n)
				}
			} else if next = s.Without(n); next.Find(n) >= 0 {
				t.Fatalf("%v has %q", next, n)
			}
			twin := s.With("twin", image)
			if twin.Find("twin") != len(s) || !s.Equal(before) {
				t.Fatalf("%v became %v", before, s)
			}
			if err := next.Check(); err != nil {
				t.Fatal(err)
			}
			if s.With("other", sample.TextType); twin[len(s)].Name != "twin" {
				t.Fatalf("two schemas share memory")
			}
			if rapid.Bool().Draw(t, "go on") {
				s = next
			}
		}
	})
}

func TestWithReplacesInPlace(t *testing.T) {
	s := files().With("bytes", image)
	if s.Find("bytes") != 1 || !s[1].Type.Equal(image) || len(s) != 3 {
		t.Errorf("got %v", s)
	}
}

func TestCheckNamesAllMistakes(t *testing.T) {
	s := sample.Schema{
		{Name: "", Type: sample.TextType},
		{Name: "twice", Type: sample.TextType},
		{Name: "twice", Type: sample.BytesType},
		{Name: "kindless"},
		{Name: "shaped", Type: sample.Type{Kind: sample.Bytes, Shape: tensor.Shape{1}}},
		{Name: "untyped", Type: sample.Type{Kind: sample.Tensor}},
		{Name: "negative", Type: sample.TensorType(tensor.Bool, -7)},
		{Name: "beyond", Type: sample.Type{Kind: 200}},
		{Name: "flat", Type: sample.Type{Kind: sample.Tensor, DType: tensor.Uint8, Shape: tensor.Shape{4}, Axes: "HWC"}},
	}
	err := s.Check()
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{"field 0 has no name", `two fields have the name "twice"`, `"kindless" is of no known kind`,
		`"shaped" is bytes and cannot have`, `"untyped" is a tensor without a dtype`, `"negative" tensor: shape`, "kind(200)",
		`"flat" has the axes "HWC" and the shape [4]`} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is missing in:\n%v", want, err)
		}
	}
	if err := files().Check(); err != nil {
		t.Error(err)
	}
}

func TestFixed(t *testing.T) {
	for _, c := range []struct {
		t    sample.Type
		want bool
	}{
		{image, false},
		{sample.TensorType(tensor.Uint8, 224, 224, 3), true},
		{sample.TensorType(tensor.Int64), true},
		{sample.TextType, false},
		{sample.BytesType, false},
	} {
		if c.t.Fixed() != c.want {
			t.Errorf("%v: Fixed is %v", c.t, !c.want)
		}
	}
}

func TestKindsRoundTrip(t *testing.T) {
	for _, k := range []sample.Kind{sample.Tensor, sample.Bytes, sample.Text} {
		text, err := json.Marshal(k)
		if err != nil {
			t.Fatal(err)
		}
		var back sample.Kind
		if err := json.Unmarshal(text, &back); err != nil || back != k {
			t.Errorf("%v became %s became %v, %v", k, text, back, err)
		}
	}
	if _, err := json.Marshal(sample.Kind(0)); err == nil {
		t.Error("the zero kind was written")
	}
	var k sample.Kind
	for _, bad := range []string{`"invalid"`, `"Tensor"`, `""`} {
		if err := json.Unmarshal([]byte(bad), &k); err == nil {
			t.Errorf("%s was read as %v", bad, k)
		}
	}
}

func TestErrorNamesTheSample(t *testing.T) {
	err := error(&sample.Error{Key: "a/b.jpg", Index: 17, Err: fs.ErrNotExist})
	if got, want := err.Error(), `sample "a/b.jpg" (index 17): file does not exist`; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if !errors.Is(err, fs.ErrNotExist) {
		t.Error("the cause cannot be found")
	}
	odd := (&sample.Error{Key: "line\nbreak\xff", Err: fs.ErrNotExist}).Error()
	if strings.Contains(odd, "\n") || strings.Contains(odd, "\xff") {
		t.Errorf("raw bytes of a name in the message: %q", odd)
	}
}

func TestRagged(t *testing.T) {
	image := sample.TensorType(tensor.Uint8, tensor.Unknown, tensor.Unknown, 3)
	image.Axes = "HWC"
	s := sample.Schema{
		{Name: "tokens", Type: sample.TensorType(tensor.Int32, tensor.Unknown)},
		{Name: "frames", Type: sample.TensorType(tensor.Float32, tensor.Unknown, 80)},
		{Name: "grid", Type: sample.TensorType(tensor.Float32, tensor.Unknown, tensor.Unknown)},
		{Name: "late", Type: sample.TensorType(tensor.Float32, 80, tensor.Unknown)},
		{Name: "image", Type: image},
		{Name: "label", Type: sample.TensorType(tensor.Int64)},
		{Name: "key", Type: sample.TextType},
	}
	if got := strings.Join(s.Ragged().Names(), " "); got != "tokens frames" {
		t.Errorf("of %v ragged are %q", s, got)
	}
}

// Names are told apart among many fields, too.
func TestWideSchemasAreChecked(t *testing.T) {
	var wide sample.Schema
	for i := range 100 {
		wide = append(wide, sample.Field{Name: fmt.Sprint(i), Type: sample.TextType})
	}
	if err := wide.Check(); err != nil {
		t.Error(err)
	}
	if err := append(wide, wide[7]).Check(); err == nil || !strings.Contains(err.Error(), `two fields have the name "7"`) {
		t.Errorf("two fields of one name: %v", err)
	}
}
