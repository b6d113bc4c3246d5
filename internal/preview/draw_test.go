package preview_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/headrace/headrace/internal/phototest"
	"github.com/headrace/headrace/internal/preview"
	"github.com/headrace/headrace/recipe"
)

// A sheet has a tile for each of the samples with which the epoch begins, also of one
// that fails, and says what is on it.
func TestSheets(t *testing.T) {
	root := phototest.Folder(t, 8)
	phototest.Spoil(t, root, "003.jpg")
	r, err := recipe.Parse([]byte(`{"headrace":1,"steps":[{"files":{"pattern":"` + root + `","root":"/","label":"parent"}},"decode_image",
		{"center_crop":{"size":16}},{"normalize":{"mean":0.5,"std":0.5}},{"layout":{"layout":"NCHW"}},{"batch":{"size":3}}]}`))
	if err != nil {
		t.Fatal(err)
	}
	p, err := preview.Draw(t.Context(), preview.Request{Recipe: r, Title: "six", Samples: 6, Columns: 6, Tile: 20})
	if err != nil {
		t.Fatal(err)
	}
	if p.Of != 8 || len(p.Samples) != 6 || p.Picture.Width < 6*20 {
		t.Fatalf("%d of %d samples, a picture %d wide", len(p.Samples), p.Of, p.Picture.Width)
	}
	failed := 0
	for _, s := range p.Samples { // those of class0 come first
		if s.Error != "" {
			failed++
		} else if s.Label != "class0 (0)" && s.Label != "class1 (1)" || !strings.HasSuffix(s.Key, ".jpg") {
			t.Errorf("%+v", s)
		}
		if bad := strings.HasSuffix(s.Key, "003.jpg"); bad != (s.Error != "") || bad && !strings.HasPrefix(s.Error, "decode_image") {
			t.Errorf("%+v", s)
		}
	}
	if failed != 1 {
		t.Errorf("%d samples fail: the spoilt one is not among the first", failed)
	}
	again, err := preview.Draw(t.Context(), preview.Request{Recipe: r, Title: "six", Samples: 6, Epoch: 1, Columns: 6, Tile: 20})
	if err != nil || again.Samples[0].Key != p.Samples[0].Key { // in the order of the files, as no step shuffles
		t.Errorf("%v, %+v", err, again)
	}

	text, err := recipe.Parse([]byte(`{"headrace":1,"steps":[{"files":{"pattern":"` + root +
		`","root":"/","label":"parent"}},{"drop":{"fields":["bytes"]}},{"batch":{"size":3}}]}`))
	if err != nil {
		t.Fatal(err)
	}
	_, err = preview.Draw(t.Context(), preview.Request{Recipe: text, Samples: 1})
	if bad := (*preview.Mistake)(nil); !errors.As(err, &bad) || !strings.Contains(err.Error(),
		"its samples have no image to draw, only") {
		t.Error(err)
	}
}

// Of each sample there is a tile after each step that changes pixels. The last column is
// the sheet of the whole recipe.
func TestSheetsOfEachStep(t *testing.T) {
	root := phototest.Folder(t, 8)
	phototest.Spoil(t, root, "003.jpg")
	parse := func(steps string) recipe.Recipe {
		r, err := recipe.Parse([]byte(`{"headrace":1,"seed":5,"steps":[
			{"files":{"pattern":"` + root + `","root":"/","label":"parent"}},"shuffle",` + steps + `{"batch":{"size":3}}]}`))
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	r := parse(`"decode_image",{"random_resized_crop":{"size":16}},{"color_jitter":{"brightness":0.9}},"random_flip",
		{"normalize":{"mean":0.5,"std":0.5}},{"layout":{"layout":"NCHW"}},`)
	request := preview.Request{Recipe: r, Title: "steps", Samples: 3, Tile: 20}
	p, err := preview.DrawEachStep(t.Context(), request)
	if err != nil {
		t.Fatal(err)
	}
	whole, err := preview.Draw(t.Context(), request)
	if err != nil || len(p.Samples) != 3 || p.Of != 8 || p.Picture.Width < 4*20 {
		t.Fatalf("%v: %+v", err, p.Samples)
	}
	for i, s := range p.Samples {
		if s.Key != whole.Samples[i].Key || s.Error != whole.Samples[i].Error {
			t.Errorf("%+v, want %+v", s, whole.Samples[i])
		}
	}

	_, err = preview.DrawEachStep(t.Context(), preview.Request{Recipe: parse(`{"drop":{"fields":["bytes"]}},`), Samples: 1})
	if bad := (*preview.Mistake)(nil); !errors.As(err, &bad) || !strings.Contains(err.Error(), "none of its steps makes an image") {
		t.Error(err)
	}
}
