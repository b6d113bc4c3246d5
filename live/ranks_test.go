package live

import (
	"encoding/json"
	"os"
	"slices"
	"testing"
)

// TestLateRanks: the answers that the Python client gives, too.
func TestLateRanks(t *testing.T) {
	text, err := os.ReadFile("testdata/ranks.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases []struct {
		Name   string    `json:"name"`
		Shares []float64 `json:"shares"`
		Late   []int     `json:"late"`
	}
	if err := json.Unmarshal(text, &cases); err != nil || len(cases) < 8 {
		t.Fatal(len(cases), err)
	}
	for _, c := range cases {
		got := []int{}
		for i, isLate := range late(c.Shares) {
			if isLate {
				got = append(got, i)
			}
		}
		if !slices.Equal(got, c.Late) {
			t.Errorf("%s: %v are late, want %v", c.Name, got, c.Late)
		}
	}
}

// TestLateRanksOfLoaders: ranks are compared with those of their own loader, by all that
// keeps a batch from the loop.
func TestLateRanksOfLoaders(t *testing.T) {
	of := func(program, name string, ranks int, loop Loop) *Moment {
		return &Moment{Program: program, Name: name, Ranks: ranks, Loop: loop}
	}
	all := []*Moment{
		of("train.py", "train", 3, Loop{Share: 0.02}),
		of("train.py", "val", 3, Loop{Share: 0.4}), // alone with its name: the others are elsewhere
		of("train.py", "train", 3, Loop{Share: 0.02, MainShare: 0.3}),
		of("other.py", "train", 3, Loop{Share: 0.9}),
		of("train.py", "train", 3, Loop{Share: 0.03}),
		of("train.py", "alone", 1, Loop{Share: 0.9}),
		of("train.py", "alone", 1, Loop{Share: 0.1}),
	}
	if got, want := Late(all), []bool{2: true, 6: false}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if got := Late(nil); len(got) != 0 {
		t.Error(got)
	}
}
