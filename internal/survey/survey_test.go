package survey

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	_ "github.com/headrace/headrace/op"
	"github.com/headrace/headrace/recipe"
	"github.com/headrace/headrace/sample"
	"github.com/headrace/headrace/tensor"
)

// tried is a survey whose functions give these fields, and none of whose processes run.
func tried(t *testing.T, gives map[string]sample.Schema) *Survey {
	return &Survey{First: func(_ context.Context, r recipe.Recipe, schema sample.Schema, _ AtEnd) (Made, error) {
		var asked *probing
		name := ""
		for _, s := range r.All() {
			if p, ok := s.Args.(*probing); ok {
				asked, name = p, s.Name
			}
		}
		if asked == nil {
			t.Fatalf("%v asks nobody", r)
		}
		if len(schema) != 1 || schema[0].Name != "key" {
			t.Errorf("what is tried gives %v", schema)
		}
		chain := asked.chain
		if chain == nil {
			chain = []recipe.Step{{Name: name}}
		}
		for _, s := range chain {
			fields, ok := gives[s.Name]
			if !ok {
				return Made{}, io.EOF
			}
			asked.gives = append(asked.gives, slices.Clone(fields))
		}
		return Made{}, nil
	}}
}

// told completes a recipe, and returns what the steps of these names give in it.
func told(t *testing.T, steps string, gives map[string]sample.Schema) (map[string]string, error) {
	t.Helper()
	r, err := recipe.Parse([]byte(`{"headrace":1,"steps":[{"files":{"pattern":"x","label":"parent"}},` + steps + `]}`))
	if err != nil {
		t.Fatal(err)
	}
	if needed, _ := Needed(r); !needed {
		t.Errorf("%s asks for nothing", steps)
	}
	r, err = tried(t, gives).Complete(t.Context(), r)
	all := map[string]string{}
	for _, s := range r.All() {
		if call := recipe.TraitsOf(s.Args).Call; call != nil && call.Gives != nil && call.Gives.Schema != nil {
			all[s.Name] = call.Gives.Schema.String()
		}
	}
	return all, err
}

func fields(t sample.Type) sample.Schema { return sample.Schema{{Name: "image", Type: t}} }

// A function gives what it made of the first sample, but for extents that may differ in
// others: these stay open unless a later step needs them.
func TestWhatFunctionsGive(t *testing.T) {
	image, tokens := fields(sample.TensorType(tensor.Uint8, 10, 12, 3)), fields(sample.TensorType(tensor.Int32, 7))
	const decode, function, batch = `"decode_image",`, `{"map":{"function":"m:f"},"name":"f"}`, `,{"batch":{"size":2}}`
	for _, c := range []struct {
		steps string
		gives map[string]sample.Schema
		want  map[string]string
	}{
		{decode + function + batch, map[string]sample.Schema{"f": image}, map[string]string{"f": "image: uint8 [10, 12, 3]"}},
		{decode + function + `,{"center_crop":{"size":8}}` + batch, map[string]sample.Schema{"f": image},
			map[string]string{"f": "image: uint8 [?, ?, 3]"}},
		{decode + function + batch, map[string]sample.Schema{"f": tokens}, map[string]string{"f": "image: int32 [7]"}},
		{decode + function + `,{"map":{"function":"m:g"},"name":"g"}` + batch, map[string]sample.Schema{"f": image, "g": tokens},
			map[string]string{"f": "image: uint8 [?, ?, 3]", "g": "image: int32 [7]"}},
		{decode + function + `,{"filter":{"function":"m:h"},"name":"h"}` + batch, map[string]sample.Schema{"f": image, "h": nil},
			map[string]string{"f": "image: uint8 [10, 12, 3]"}},
		{decode + function + `,{"resize":{"size":9}},{"map":{"function":"m:g"},"name":"g"}` + batch,
			map[string]sample.Schema{"f": image, "g": tokens},
			map[string]string{"f": "image: uint8 [?, ?, 3]", "g": "image: int32 [7]"}},
		{decode + `{"route":{"by":"label","branches":[{"when":[0],"steps":[{"map":{"function":"m:g"},"name":"g"}]},
			{"steps":[{"route":{"by":"label","branches":[{"steps":[` + function + `]}]}}]}]}}` + batch,
			map[string]sample.Schema{"f": tokens, "g": tokens}, map[string]string{"f": "image: int32 [7]", "g": "image: int32 [7]"}},
	} {
		got, err := told(t, c.steps, c.gives)
		if err != nil {
			t.Errorf("%s: %v", c.steps, err)
		}
		for name, want := range c.want {
			if !strings.Contains(got[name], strings.TrimPrefix(want, "image: ")) {
				t.Errorf("%s: %s gives %s, not %s", c.steps, name, got[name], want)
			}
		}
	}
}

// What no sample can tell is an error that names the step, and says what to write.
func TestWhatNoSampleTells(t *testing.T) {
	image := fields(sample.TensorType(tensor.Uint8, 10, 12, 3))
	const batch = `,{"center_crop":{"size":8}},{"batch":{"size":2}}`
	for want, steps := range map[string]string{
		`step "late" (#3): has no gives, and no sample came to find it from: set gives`: `"decode_image",{"map":{"function":"m:f"},"name":"late"}` + batch,
		`step "inside" (#4): has no gives, and none of the first samples comes to its branch`: `"decode_image",
			{"route":{"by":"label","branches":[{"when":[0],"steps":[{"map":{"function":"m:g"},"name":"inside"}]},{"steps":[]}]}}` + batch,
		`step "chained" (#4): has no gives, and none of the first samples comes to its branch`: `"decode_image",
			{"route":{"by":"label","branches":[{"when":[0],"steps":[{"map":{"function":"m:g"},"name":"chained"},{"map":{"function":"m:g"}}]},{"steps":[]}]}}` + batch,
	} {
		_, err := told(t, steps, map[string]sample.Schema{"f": image})
		if bad := (*recipe.Error)(nil); !errors.As(err, &bad) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, not %q", err, want)
		}
	}
}

// Functions are only tried if some step calls one without saying what it gives, wherever
// in the recipe that is.
func TestWhoHasToBeAsked(t *testing.T) {
	const files, told = `{"files":{"pattern":"x","label":"parent"}},"decode_image",`, `{"map":{"function":"m:f","gives":{"a":"text"}}}`
	for steps, want := range map[string]bool{
		files + `{"center_crop":{"size":8}},{"batch":{"size":2}}`: false,
		files + told: false,
		files + told + `,{"map":{"function":"m:g"}}`:                                                        true,
		files + `{"filter":{"function":"m:f"}}`:                                                             false,
		files + `{"flat_map":{"function":"m:f"}}`:                                                           true,
		files + `{"center_crop":{"size":8}},{"batch":{"size":2,"collate":{"function":"m:f"}}}`:              true,
		files + `{"route":{"by":"label","branches":[{"steps":[{"map":{"function":"m:f"}}]}]}}`:              true,
		`{"source":{"function":"m:f","length":3}}`:                                                          true,
		`{"source":{"function":"m:f","length":3,"gives":{"a":"text"}}}`:                                     false,
		`{"merge":{"of":[[{"source":{"function":"m:f"}}],[{"source":{"function":"m:g"}}]]}},"decode_image"`: true,
	} {
		r, err := recipe.Parse([]byte(`{"headrace":1,"steps":[` + steps + `]}`))
		if err != nil {
			t.Fatal(err)
		}
		if got, _ := Needed(r); got != want {
			t.Errorf("%s: a survey is needed: %v", steps, got)
		}
	}
}
