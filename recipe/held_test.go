package recipe_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/headrace/headrace/recipe"
	"github.com/headrace/headrace/sample"
)

// blur knows nothing of recipes; held makes arguments of it.
type blur struct {
	Radius float64 `json:"radius" doc:"in pixels" min:"0" example:"1.5"`
	Edge   string  `json:"edge" doc:"what is beyond" choices:"mirror,black"`
}

type held struct{ fields *blur }

func (h held) Check(in sample.Schema) (sample.Schema, error) {
	if h.fields.Radius < 0 {
		return in, recipe.Wrong("radius", "is %v: must be at least 0", h.fields.Radius)
	}
	return in, nil
}
func (h held) Held() any                    { return h.fields }
func (h held) MarshalJSON() ([]byte, error) { return json.Marshal(h.fields) }

// Operations from elsewhere are read, written, shown and described as those of this
// package.
func TestHeldArguments(t *testing.T) {
	op := recipe.Op{Name: "blur", Doc: "Blurs.", New: func() recipe.Args { return held{&blur{Radius: 2, Edge: "mirror"}} }}
	if err := recipe.Register(op); err != nil {
		t.Fatal(err)
	}
	read := func(args string) (recipe.File, error) {
		return recipe.Read("r", []byte("headrace: 1\nvars: {r: 3}\nsteps:\n  - files: {pattern: a}\n  - blur: "+args+"\n"), recipe.Variables{})
	}
	f, err := read(`{radius: "${r}"}`)
	if err != nil {
		t.Fatal(err)
	}
	if got := f.Recipe.String(); got != `files(pattern="a") → blur(radius=3)` {
		t.Error(got)
	}
	if got := string(f.YAML()); !strings.Contains(got, "  - blur: {radius: 3, edge: mirror}\n") {
		t.Error(got)
	}
	if again, err := recipe.Read("r", f.YAML(), recipe.Variables{}); err != nil || again.Recipe.Fingerprint() != f.Recipe.Fingerprint() {
		t.Errorf("%v, %v", again, err)
	}
	want := []recipe.Argument{
		{Name: "radius", Doc: "in pixels", Takes: "a number", Default: json.RawMessage("2")},
		{Name: "edge", Doc: "what is beyond", Takes: "text", Choices: []string{"mirror", "black"}, Default: json.RawMessage(`"mirror"`)},
	}
	if diff := cmp.Diff(want, op.Arguments()); diff != "" {
		t.Error(diff)
	}
	validate := compile(t)
	for args, right := range map[string]bool{`{"radius":3}`: true, `{"edge":"black"}`: true, `{"edge":"white"}`: false, `{"radius":-1}`: false, `{"radios":3}`: false} {
		if err := validate(around("blur", `{"blur":`+args+`}`)); (err == nil) != right {
			t.Errorf("%s: %v", args, err)
		}
	}
	for args, want := range map[string]string{
		`{radios: 3}`:   `r:5:12: step "blur" (#2): unknown argument "radios": did you mean "radius"? the arguments are radius, edge`,
		`{radius: big}`: `r:5:20: step "blur" (#2): radius is "big": must be a number`,
		`{radius: -1}`:  `r:5:20: step "blur" (#2): radius is -1: must be at least 0`,
	} {
		f, err := read(args)
		if err == nil {
			_, err = f.Check()
		}
		if err == nil || err.Error() != want {
			t.Errorf("got  %v\nwant %s", err, want)
		}
	}
}
