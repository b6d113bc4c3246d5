package decode

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"testing"

	"github.com/headrace/headrace/internal/argument"
	"github.com/headrace/headrace/internal/rawjson"
	"github.com/headrace/headrace/internal/variables"
	"github.com/headrace/headrace/internal/words"
)

type chain []string

type args struct {
	Size  int      `json:"size"`
	Names []string `json:"names"`
	P     *float64 `json:"p"`
	Pair  [2]int   `json:"pair"`
	Inner struct {
		On bool `json:"on" required:"true"`
	} `json:"inner"`
	Steps chain `json:"steps"`
}

// decoded fills args, in which ${n} is 3, ${list} is [4] and ${none} has no value, which
// has been said.
func decoded(t *testing.T, text string) (a args, wrong []string) {
	t.Helper()
	v, err := rawjson.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	d := Decoder{
		Vars: &variables.Table{All: []variables.Var{{Name: "n", Value: "3", From: "given"},
			{Name: "list", Value: "[4]", From: "given"}, {Name: "none"}}},
		Wrong: func(path string, err error) {
			key := ""
			if k := (argument.Keyed{}); errors.As(err, &k) {
				key = " at " + k.Key
			}
			wrong = append(wrong, fmt.Sprintf("%s%s: %v", path, key, err))
		},
		Steps:     func(v rawjson.Value, _ string) reflect.Value { return reflect.ValueOf(chain{string(v)}) },
		StepsType: reflect.TypeFor[chain](),
		Unknown:   func(_ any, name string, known []string) error { return words.Unknown("argument", name, known) },
	}
	d.Args(v, &a, "args")
	return a, wrong
}

func TestArgumentsAreFilled(t *testing.T) {
	want := args{Size: 3, Names: []string{"a", "3b"}, P: new(0.5), Pair: [2]int{1, 3}, Steps: chain{`["${n}"]`}}
	want.Inner.On = true
	got, wrong := decoded(t, `{"size":"${n}","names":["a","${n}b"],"p":5e-1,"pair":[1,"${n}"],"inner":{"on":true},"steps":["${n}"]}`)
	if !reflect.DeepEqual(got, want) || wrong != nil {
		t.Errorf("got %+v, %q, want %+v", got, wrong, want)
	}
	if got, wrong := decoded(t, `{"size":null,"names":[],"inner":null}`); got.Names == nil || wrong != nil {
		t.Errorf("null is not given, and an empty list is: %+v, %q", got, wrong)
	}
}

func TestMistakesAreCollected(t *testing.T) {
	for text, want := range map[string][]string{
		`{"siz":1,"size":1,"size":2,"pair":[1]}`: {
			`args at siz: unknown argument "siz": did you mean "size"? the arguments are size, names, p, pair, inner, steps`,
			"args at size: size is given twice",
			"args.pair: is [1]: must be a list of 2, each a whole number",
		},
		`{"names":["a",1,null],"inner":{"off":1}}`: {
			"args.names[1]: is 1: must be text", "args.names[2]: is null: must be text",
			`args.inner at off: has an unknown key "off": the keys are on`, `args.inner: lacks the key "on"`,
		},
		`{"size":"${list}","steps":"${list}","names":["${none}","\ud800"]}`: {
			`args.size: is "${list}", here [4]: must be a whole number`, `args.steps: is "${list}", here [4]: must be a list, each text`,
			`args.names[1]: is "\ud800", which has the lone surrogate \ud800, which means nothing`,
		},
		`{"size":1.5,"p":"x"}`: {"args.size: is 1.5: must be a whole number", `args.p: is "x": must be a number`},
		`3`:                    {"args: give its arguments by name, as in {size: …}, not 3"},
	} {
		if _, got := decoded(t, text); !slices.Equal(got, want) {
			t.Errorf("%s:\ngot  %q\nwant %q", text, got, want)
		}
	}
}
