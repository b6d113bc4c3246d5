package data_test

import (
	"slices"
	"testing"

	"github.com/headrace/headrace/op/data"
	"github.com/headrace/headrace/recipe"
	"github.com/headrace/headrace/sample"
	"github.com/headrace/headrace/tensor"
)

// What a step says it keeps is what its Check gives, for any order of fields.
func TestKeptIsWhatCheckGives(t *testing.T) {
	in := sample.Schema{
		{Name: "image", Type: sample.TensorType(tensor.Uint8, 2, 2, 3)}, {Name: "label", Type: sample.TensorType(tensor.Int64)},
		{Name: "name", Type: sample.TextType}, {Name: "key", Type: sample.TextType},
	}
	for range len(in) {
		in = append(in[1:], in[0])
		for _, s := range []recipe.FieldStep{
			&data.Select{Fields: []string{"name", "image"}},
			&data.Drop{Fields: []string{"label"}},
			&data.Rename{Fields: data.NewNames{"image": "label", "label": "image"}},
			&data.Copy{Field: "label", To: []string{"a", "b"}},
		} {
			before, after := s.Kept(in)
			out, err := s.Check(in)
			if err != nil || !slices.Equal(out.Names(), after) || len(before) != len(after) {
				t.Errorf("%T of %v keeps %v as %v, and gives %v, %v", s, in.Names(), before, after, out, err)
				continue
			}
			for i, f := range out {
				if was := in[in.Find(before[i])]; !f.Type.Equal(was.Type) {
					t.Errorf("%T of %v gives %v, which was %v", s, in.Names(), f, was)
				}
			}
		}
	}
}

func TestOneFieldMustStay(t *testing.T) {
	in := sample.Schema{{Name: "name", Type: sample.TextType}}
	if out, err := (&data.Drop{Fields: []string{"name"}}).Check(in); err == nil {
		t.Errorf("without its only field, a sample is %v", out)
	}
	if _, err := (&data.Rename{Fields: data.NewNames{"name": "_"}}).Check(in); err == nil {
		t.Error("the only field is called as a value that is not a dict")
	}
}

func TestFieldStepsLookAtNoValue(t *testing.T) {
	for _, op := range data.Ops {
		args := op.New()
		if _, ok := args.(recipe.FieldStep); ok && recipe.TraitsOf(args).Content != "" {
			t.Errorf("%s works on values", op.Name)
		}
	}
}
