package recipe_test

import (
	"math"
	"strings"
	"testing"

	"github.com/headrace/headrace/op/input"
	"github.com/headrace/headrace/recipe"
	"github.com/headrace/headrace/sample"
)

// limited leaves its check to its tags.
type limited struct {
	Level  int       `json:"level" doc:"" min:"1" max:"255"`
	Share  *float64  `json:"share" doc:"" min:"0"`
	Top    uint64    `json:"top" doc:"" max:"7"`
	Edge   string    `json:"edge" doc:"" choices:"mirror,black"`
	Must   *string   `json:"must" doc:"" required:"true" choices:"a,b"`
	List   []float64 `json:"list" doc:"" required:"true"`
	Plain  string    `json:"plain" doc:""`
	hidden int
}

func (l *limited) Check(in sample.Schema) (sample.Schema, error) { return in, recipe.CheckTags(l) }

func TestTagsAreChecked(t *testing.T) {
	if err := recipe.Register(recipe.Op{Name: "limited", Doc: "Has limits.", New: func() recipe.Args { return new(limited) }}); err != nil {
		t.Fatal(err)
	}
	right := func() *limited {
		return &limited{Level: 1, Top: 7, Edge: "black", Must: new("a"), List: []float64{1}, hidden: 1}
	}
	for want, change := range map[string]func(*limited){
		"":                                    func(*limited) {},
		"level is 0: must be from 1 to 255":   func(a *limited) { a.Level = 0 },
		"level is 256: must be from 1 to 255": func(a *limited) { a.Level = 256 },
		"share is -0.5: must be at least 0":   func(a *limited) { a.Share = new(-0.5) },
		"share is NaN: must be at least 0":    func(a *limited) { a.Share = new(math.NaN()) },
		"top is 8: must be at most 7":         func(a *limited) { a.Top = 8 },
		`edge is "blak": did you mean "black"? must be "mirror" or "black"`: func(a *limited) { a.Edge = "blak" },
		`must is "other": must be "a" or "b"`:                               func(a *limited) { a.Must = new("other") },
		"lacks the argument must":                                           func(a *limited) { a.Must = nil },
		"lacks the argument list":                                           func(a *limited) { a.List = nil },
		"level is 0: must be from 1 to 255, lacks the argument must":        func(a *limited) { a.Level, a.Must = 0, nil },
	} {
		a := right()
		change(a)
		got := ""
		if _, err := (recipe.Recipe{Steps: []recipe.Step{{Args: &input.Files{Pattern: "a"}}, {Args: a}}}).Check(); err != nil {
			got = strings.ReplaceAll(strings.ReplaceAll(err.Error(), `recipe: step "limited" (#2): `, ""), "\n", ", ")
		}
		if got != want {
			t.Errorf("%q, expected %q", got, want)
		}
	}
}
