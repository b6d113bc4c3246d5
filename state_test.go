package headrace

import (
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"headrace/order"
)

func identity() State {
	return State{Version: StateVersion, Order: order.Version, Decoder: "libjpeg-turbo", Recipe: "abc", Samples: 100, WorldSize: 1}
}

func TestStateJSONIsPinned(t *testing.T) {
	s := identity()
	s.Epoch, s.Position, s.Ahead, s.Lost, s.Quarantine = 3, 64, [][2]int64{{70, 71}}, []int64{70}, []int64{5}
	got, err := json.Marshal(s)
	want := `{"version":1,"order":1,"decoder":"libjpeg-turbo","recipe":"abc","samples":100,"world_size":1,` +
		`"epoch":3,"position":64,"ahead":[[70,71]],"lost":[70],"quarantine":[5]}`
	if err != nil || string(got) != want {
		t.Fatalf("checkpoints of users have another form:\n%s\n%s", got, want)
	}
	var back State
	if err := json.Unmarshal(got, &back); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(s, back); d != "" {
		t.Fatal(d)
	}
}

func TestStatesThatDoNotFitAreRefusedWithTheReason(t *testing.T) {
	for want, change := range map[string]func(*State){
		"version 2":                    func(s *State) { s.Version = 2 },
		"order algorithm is version 9": func(s *State) { s.Order = 9 },
		"another recipe":               func(s *State) { s.Recipe = "def" },
		"source had 99 samples":        func(s *State) { s.Samples = 99 },
		"world_size 2":                 func(s *State) { s.WorldSize = 2 },
		"epoch is -1":                  func(s *State) { s.Epoch = -1 },
		"epoch is 9223372036854775807": func(s *State) { s.Epoch = math.MaxInt },
		"position is 101":              func(s *State) { s.Position = 101 },
		"position is -1":               func(s *State) { s.Position = -1 },
		"range [5 6] is not beyond":    func(s *State) { s.Position, s.Ahead = 10, [][2]int64{{5, 6}} },
		"range [20 20] is not":         func(s *State) { s.Ahead = [][2]int64{{20, 20}} },
		"range [90 101] is not":        func(s *State) { s.Ahead = [][2]int64{{90, 101}} },
		"range [30 40] is not":         func(s *State) { s.Ahead = [][2]int64{{50, 60}, {30, 40}} },
		"it dropped -1 samples":        func(s *State) { s.Dropped = -1 },
		"it dropped 6 samples":         func(s *State) { s.Position, s.Lost, s.Dropped = 6, []int64{2, 2, 8}, 6 },
		"lost position 100":            func(s *State) { s.Lost = []int64{100} },
		"quarantines index 100":        func(s *State) { s.Quarantine = []int64{100} },
	} {
		from := identity()
		change(&from)
		err := identity().fits(from, 100)
		if !errors.Is(err, ErrState) || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, expected %q", from, err, want)
		}
	}
	plain := State{Epoch: 4}
	if err := identity().fits(plain, 100); err != nil {
		t.Errorf("a plain epoch number was refused: %v", err)
	}
}

func FuzzStateFits(f *testing.F) {
	f.Add(`{"epoch":1,"position":5,"ahead":[[7,9]],"lost":[8]}`)
	f.Fuzz(func(t *testing.T, text string) {
		var s State
		if json.Unmarshal([]byte(text), &s) != nil || identity().fits(s, 100) != nil {
			return
		}
		if at := s.settled(100); at.yielded() < 0 || at.yielded() > 100 || at.Position > 99 || at.Epoch < s.Epoch {
			t.Fatalf("%+v has yielded %d", at, at.yielded())
		}
	})
}
