package headrace

import (
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"headrace/internal/phototest"
	"headrace/internal/resume"
	"headrace/order"
	"headrace/pipe"
)

// run100 is a run over the source "files" of 100 samples.
func run100() resume.Extent {
	return resume.Extent{Splits: map[string]order.Split{"files": {Samples: 100, Batch: 10, World: 1}}, Begin: State{Version: StateVersion, Order: order.Version, Decoder: "libjpeg-turbo", Recipe: "abc", WorldSize: 1,
		Sources: map[string]SourceState{"files": {Samples: 100}}}}
}

func TestStateJSONIsPinned(t *testing.T) {
	s := run100().Begin
	s.Epoch, s.Quarantine, s.Dropped = 3, []int64{5}, 2
	s.Sources = map[string]SourceState{"files": {Samples: 100, Position: 64, Ahead: [][2]int64{{70, 71}}, Lost: []int64{70}, Open: []int64{70}}}
	s.Merges = map[string]pipe.Progress{"merge": {Low: 60, Ahead: [][2]int64{{62, 63}}}}
	s.Parts = []pipe.PartState{{Stage: "tiles", Source: "files", Item: []int64{64}, Progress: pipe.Progress{Low: 2}}}
	got, err := json.Marshal(s)
	want := `{"version":2,"order":2,"decoder":"libjpeg-turbo","recipe":"abc","world_size":1,"rank":0,"in_step":false,` +
		`"epoch":3,"sources":{"files":{"samples":100,"position":64,"ahead":[[70,71]],"lost":[70],"open":[70]}},` +
		`"merges":{"merge":{"low":60,"ahead":[[62,63]]}},"parts":[{"stage":"tiles","source":"files","item":[64],"low":2}],"dropped":2,"quarantine":[5]}`
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

// What a batch brings is what encoding/json writes of the same record, but for what was
// lost.
func TestPlacesAreWrittenAsTheRecordIs(t *testing.T) {
	numbers := rapid.SliceOfN(rapid.Int64(), 0, 3)
	ranges := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) [2]int64 { return [2]int64{rapid.Int64().Draw(t, "from"), rapid.Int64().Draw(t, "to")} }), 0, 3)
	name := rapid.StringMatching(`[A-Za-z_][A-Za-z0-9_.-]{0,5}`)
	rapid.Check(t, func(t *rapid.T) {
		s := State{Dropped: rapid.Int64().Draw(t, "dropped"), Batches: rapid.Int64().Draw(t, "batches")}
		s.Sources = rapid.MapOfN(name, rapid.Custom(func(t *rapid.T) SourceState {
			return SourceState{Samples: rapid.Int64().Draw(t, "samples"), Position: rapid.Int64().Draw(t, "position"), Ahead: ranges.Draw(t, "ahead"), Open: numbers.Draw(t, "open"), Done: ranges.Draw(t, "done")}
		}), 1, 10).Draw(t, "sources")
		s.Merges = rapid.MapOfN(name, rapid.Custom(func(t *rapid.T) pipe.Progress {
			return pipe.Progress{Low: rapid.Int64().Draw(t, "low"), Ahead: ranges.Draw(t, "turns")}
		}), 0, 10).Draw(t, "merges")
		for range rapid.IntRange(0, 2).Draw(t, "parts") {
			s.Parts = append(s.Parts, pipe.PartState{Stage: name.Draw(t, "stage"), Source: name.Draw(t, "source"), Item: numbers.Draw(t, "item")})
		}
		var back State
		if text := s.AppendPlace(nil); json.Unmarshal(text, &back) != nil {
			t.Fatalf("%s is not JSON", text)
		}
		want, _ := json.Marshal(s)
		if got, _ := json.Marshal(back); string(got) != string(want) {
			t.Fatalf("%s, expected %s", got, want)
		}
	})
}

func TestAPlaceNeedsNoMemory(t *testing.T) {
	s := placed(0, SourceState{Samples: 100, Position: 64, Ahead: [][2]int64{{70, 71}}})
	s.Merges = map[string]pipe.Progress{"merge": {Low: 60}}
	buffer := make([]byte, 0, 1<<10)
	if n := testing.AllocsPerRun(100, func() { buffer = s.AppendPlace(buffer[:0]) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestStatesThatDoNotFitAreRefusedWithTheReason(t *testing.T) {
	at := func(change func(*SourceState)) func(*State) {
		return func(s *State) {
			place := s.Sources["files"]
			change(&place)
			s.Sources["files"] = place
		}
	}
	for want, change := range map[string]func(*State){
		"it has version 1, this engine reads": func(s *State) { s.Version = 1 },
		"version 3":                           func(s *State) { s.Version = 3 },
		"order algorithm is version 9":        func(s *State) { s.Order = 9 },
		"order algorithm is version 1":        func(s *State) { s.Order = 1 },
		"another recipe":                      func(s *State) { s.Recipe = "def" },
		"world_size 2":                        func(s *State) { s.WorldSize = 2 },
		"is the record of rank 1":             func(s *State) { s.Rank = 1 },
		"had -1 batches":                      func(s *State) { s.Batches = -1 },
		"finished range [20 10]":              at(func(s *SourceState) { s.Done = [][2]int64{{20, 10}} }),
		"position is 41":                      at(func(s *SourceState) { s.Position, s.Done = 41, [][2]int64{{20, 80}} }),
		"epoch is -1":                         func(s *State) { s.Epoch = -1 },
		"epoch is 9223372036854775807":        func(s *State) { s.Epoch = math.MaxInt },
		`has a source "more"`:                 func(s *State) { s.Sources["more"] = SourceState{} },
		"has no sources":                      func(s *State) { s.Sources, s.Dropped = nil, 3 },
		`"files" had 99 samples`:              at(func(s *SourceState) { s.Samples = 99 }),
		"position is 101":                     at(func(s *SourceState) { s.Position = 101 }),
		"position is -1":                      at(func(s *SourceState) { s.Position = -1 }),
		"range [5 6] is not beyond":           at(func(s *SourceState) { s.Position, s.Ahead = 10, [][2]int64{{5, 6}} }),
		"range [20 20] is not":                at(func(s *SourceState) { s.Ahead = [][2]int64{{20, 20}} }),
		"range [90 101] is not":               at(func(s *SourceState) { s.Ahead = [][2]int64{{90, 101}} }),
		"range [30 40] is not":                at(func(s *SourceState) { s.Ahead = [][2]int64{{50, 60}, {30, 40}} }),
		"lost position 100":                   at(func(s *SourceState) { s.Lost = []int64{100} }),
		"open position 7":                     at(func(s *SourceState) { s.Lost, s.Open = []int64{8}, []int64{7} }),
		"it dropped -1 samples":               func(s *State) { s.Dropped = -1 },
		"it dropped 6 samples": func(s *State) {
			s.Sources["files"], s.Dropped = SourceState{Position: 6, Lost: []int64{2, 2, 8}}, 6
		},
		"quarantines index 100": func(s *State) { s.Quarantine = []int64{100} },
	} {
		from := run100().Begin
		change(&from)
		err := run100().Fits(from)
		if !errors.Is(err, ErrState) || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, expected %q", from, err, want)
		}
	}
	plain := State{Epoch: 4}
	if err := run100().Fits(plain); err != nil {
		t.Errorf("a plain epoch number was refused: %v", err)
	}
}

// The pipeline checks its own part of a record, before anything is stopped.
func TestStatesOfAnotherPipelineAreRefused(t *testing.T) {
	l := openLoader(t, augmented(t, phototest.Folder(t, 6), `{"size":4}`), Config{Epochs: new(1)}, Options{})
	for want, change := range map[string]func(*State){
		"turns of a merge more":    func(s *State) { s.Merges = map[string]pipe.Progress{"more": {}} },
		"outputs of a stage tiles": func(s *State) { s.Parts = []pipe.PartState{{Stage: "tiles", Source: "files", Item: []int64{0}}} },
	} {
		from := l.Info().State
		change(&from)
		if err := l.Start(from, nil); !errors.Is(err, ErrState) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, expected %q", err, want)
		}
	}
	if n := len(drain(t, l)); n != 2 {
		t.Errorf("the run that went on gave %d batches", n)
	}
}

func FuzzStateFits(f *testing.F) {
	f.Add(`{"epoch":1,"sources":{"files":{"position":5,"ahead":[[7,9]],"lost":[8]}}}`)
	f.Add(`{"sources":{"files":{"position":5,"done":[[0,50],[60,70]],"lost":[39]}}}`)
	f.Fuzz(func(t *testing.T, text string) {
		var s State
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
