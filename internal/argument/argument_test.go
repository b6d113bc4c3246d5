package argument

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"testing"
)

type size int

func (*size) Takes() string { return "a size" }

type all struct {
	Size   size      `json:"size,omitempty" min:"1"`
	Sizes  []*size   `json:"sizes" required:"true"`
	Word   string    `json:"word" choices:"one,two"`
	Ratio  [2]uint64 `json:"ratio"`
	Hidden int       `json:"-"`
	own    int
}

type held struct{ all }

func (h *held) Held() any { return &h.all }

func TestFields(t *testing.T) {
	text := ""
	for _, f := range FieldsOf(new(held)) {
		text += fmt.Sprintf("%s %t: %s\n", Name(f), Required(f), Takes(f.Type))
	}
	want := "size false: a size\nsizes true: a list, each a size\nword false: text\nratio false: " +
		"a list of 2, each a whole number, at least 0\n"
	if text != want {
		t.Errorf("got\n%swant\n%s", text, want)
	}
	if known := reflect.TypeFor[all](); !Has(known, "word") || Has(known, "Word") || Has(known, "own") {
		t.Error("arguments go by the names in their tags")
	}
}

func TestTags(t *testing.T) {
	a := held{all{Word: "too", own: 1}}
	const want = "is 0: must be at least 1\nlacks the argument sizes\nis \"too\": did you mean \"two\"? must be \"one\" or \"two\""
	if err := CheckTags(&a); err == nil || err.Error() != want {
		t.Error(err)
	}
	a = held{all{Size: 1, Sizes: []*size{}, Word: "one"}}
	if err := CheckTags(&a); err != nil {
		t.Error(err)
	}
}

type usual struct {
	Word   string    `json:"word,omitempty" default:"one" choices:"one,two"`
	Ratio  []float64 `json:"ratio" default:"[0.5, 1]"`
	Turn   *bool     `json:"turn" default:"true"`
	Hidden int       `json:"-" default:"3"`
	other  int
}

// What is given stays, and the arguments themselves are left alone.
func TestComplete(t *testing.T) {
	given := &usual{Ratio: []float64{2}, Turn: new(bool), other: 7}
	whole := Complete(given)
	if whole.Word != "one" || !slices.Equal(whole.Ratio, []float64{2}) || *whole.Turn || whole.Hidden != 0 || whole.other != 7 || given.Word != "" {
		t.Errorf("%+v of %+v", whole, given)
	}
	if none := Complete(new(usual)); !*none.Turn || !slices.Equal(none.Ratio, []float64{0.5, 1}) {
		t.Errorf("%+v", none)
	}
	if err := CheckTags(&usual{}); err != nil {
		t.Errorf("text that is not given: %v", err)
	}
	if same := (&all{}); Complete(same) != same || Complete[*all](nil) != nil || Complete[any](5) != 5 {
		t.Error("what has no defaults is itself")
	}
}

// Mistakes in what an argument has inside are at the path through both.
func TestMistakesInside(t *testing.T) {
	err := Inside("collate", errors.Join(Wrong("fields[1]", "is empty"), errors.New("has no function")))
	want := []string{"collate.fields[1]", "collate"}
	for i, e := range err.(interface{ Unwrap() []error }).Unwrap() {
		var m Mistake
		if !errors.As(e, &m) || m.Path != want[i] {
			t.Errorf("%v is at %q, want %q", e, m.Path, want[i])
		}
	}
	if Inside("collate", nil) != nil {
		t.Error("nothing is wrong")
	}
}

// Numbers are told as their limits are, and long ones short.
func TestNumbersInDigits(t *testing.T) {
	for x, want := range map[float64]string{
		1000001: "1000001", 0.25: "0.25", -3: "-3", 1e300: "1e+300", 1e-9: "0.000000001", 1e-60: "1e-60",
	} {
		if got := inDigits(x); got != want {
			t.Errorf("%v is told as %s, want %s", x, got, want)
		}
	}
}
