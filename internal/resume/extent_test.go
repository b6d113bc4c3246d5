package resume

import (
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/headrace/headrace/order"
	"github.com/headrace/headrace/state"
)

// run100 is a run over the source "files" of 100 samples.
func run100() Extent {
	return Extent{Splits: map[string]order.Split{"files": {Samples: 100, Batch: 10, World: 1}},
		Begin: state.State{Version: state.Version, Order: order.Version, Decoder: "libjpeg-turbo", Recipe: "abc", WorldSize: 1,
			Sources: map[string]state.Source{"files": {Samples: 100, Of: []int64{500, 200}}}}}
}

func TestStatesThatDoNotFitAreRefusedWithTheReason(t *testing.T) {
	at := func(change func(*state.Source)) func(*state.State) {
		return func(s *state.State) {
			place := s.Sources["files"]
			change(&place)
			s.Sources["files"] = place
		}
	}
	for want, change := range map[string]func(*state.State){
		"it has version 1, this engine reads": func(s *state.State) { s.Version = 1 },
		"version 3":                           func(s *state.State) { s.Version = 3 },
		"order algorithm is version 9":        func(s *state.State) { s.Order = 9 },
		"order algorithm is version 1":        func(s *state.State) { s.Order = 1 },
		"another recipe":                      func(s *state.State) { s.Recipe = "def" },
		"world_size 2":                        func(s *state.State) { s.WorldSize = 2 },
		"is the record of rank 1":             func(s *state.State) { s.Rank = 1 },
		"had -1 batches":                      func(s *state.State) { s.Batches = -1 },
		"finished range [20 10]":              at(func(s *state.Source) { s.Done = [][2]int64{{20, 10}} }),
		"position is 41":                      at(func(s *state.Source) { s.Position, s.Done = 41, [][2]int64{{20, 80}} }),
		"epoch is -1":                         func(s *state.State) { s.Epoch = -1 },
		"epoch is 9223372036854775807":        func(s *state.State) { s.Epoch = math.MaxInt },
		`has a source "more"`:                 func(s *state.State) { s.Sources["more"] = state.Source{} },
		"has no sources":                      func(s *state.State) { s.Sources, s.Dropped = nil, 3 },
		`"files" had 99 samples`:              at(func(s *state.Source) { s.Samples = 99 }),
		`"files" had 499 samples of which`:    at(func(s *state.Source) { s.Of = []int64{499, 200} }),
		`"files" had 201 samples of which`:    at(func(s *state.Source) { s.Of = []int64{500, 201} }),
		"position is 101":                     at(func(s *state.Source) { s.Position = 101 }),
		"position is -1":                      at(func(s *state.Source) { s.Position = -1 }),
		"range [5 6] is not beyond":           at(func(s *state.Source) { s.Position, s.Ahead = 10, [][2]int64{{5, 6}} }),
		"range [20 20] is not":                at(func(s *state.Source) { s.Ahead = [][2]int64{{20, 20}} }),
		"range [90 101] is not":               at(func(s *state.Source) { s.Ahead = [][2]int64{{90, 101}} }),
		"range [30 40] is not":                at(func(s *state.Source) { s.Ahead = [][2]int64{{50, 60}, {30, 40}} }),
		"lost position 100":                   at(func(s *state.Source) { s.Lost = []int64{100} }),
		"open position 7":                     at(func(s *state.Source) { s.Lost, s.Open = []int64{8}, []int64{7} }),
		"it dropped -1 samples":               func(s *state.State) { s.Dropped = -1 },
		"it dropped 6 samples": func(s *state.State) {
			s.Sources["files"], s.Dropped = state.Source{Position: 6, Lost: []int64{2, 2, 8}}, 6
		},
		"quarantines index 100": func(s *state.State) { s.Quarantine = []int64{100} },
	} {
		from := run100().Begin
		change(&from)
		err := run100().Fits(from)
		if !errors.Is(err, state.Err) || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, expected %q", from, err, want)
		}
	}
	plain := state.State{Epoch: 4}
	if err := run100().Fits(plain); err != nil {
		t.Errorf("a plain epoch number was refused: %v", err)
	}
}

func FuzzStateFits(f *testing.F) {
	f.Add(`{"epoch":1,"sources":{"files":{"position":5,"ahead":[[7,9]],"lost":[8]}}}`)
	f.Add(`{"sources":{"files":{"position":5,"done":[[0,50],[60,70]],"lost":[39]}}}`)
	f.Fuzz(func(t *testing.T, text string) {
		var s state.State
		run := run100()
		if json.Unmarshal([]byte(text), &s) != nil || run.Fits(s) != nil {
			return
		}
		at := run.Settled(s)
		if n := at.Yielded(); n < 0 || n > 100 || at.Sources["files"].Position > 99 || at.Epoch < s.Epoch {
			t.Fatalf("%+v has yielded %d", at, n)
		}
		if err := run.Fits(at); err != nil {
			t.Fatalf("%+v: %v", at, err)
		}
	})
}
