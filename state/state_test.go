package state

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/headrace/headrace/pipe"
)

func TestStateJSONIsPinned(t *testing.T) {
	s := State{Version: Version, Order: 2, Decoder: "libjpeg-turbo", Recipe: "abc", WorldSize: 1}
	s.Epoch, s.Quarantine, s.Dropped = 3, []int64{5}, 2
	s.Sources = map[string]Source{"files": {Samples: 100, Position: 64, Ahead: [][2]int64{{70, 71}}, Lost: []int64{70}, Open: []int64{70}}}
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
		s.Sources = rapid.MapOfN(name, rapid.Custom(func(t *rapid.T) Source {
			return Source{Samples: rapid.Int64().Draw(t, "samples"), Position: rapid.Int64().Draw(t, "position"), Of: numbers.Draw(t, "of"), Ahead: ranges.Draw(t, "ahead"), Open: numbers.Draw(t, "open"), Done: ranges.Draw(t, "done")}
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
	s := State{Sources: map[string]Source{"files": {Samples: 100, Position: 64, Ahead: [][2]int64{{70, 71}}}}}
	s.Merges = map[string]pipe.Progress{"merge": {Low: 60}}
	buffer := make([]byte, 0, 1<<10)
	if n := testing.AllocsPerRun(100, func() { buffer = s.AppendPlace(buffer[:0]) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// A place is passed once every source is there, or the epoch is over.
func TestUntilAPlaceIsPassed(t *testing.T) {
	at := func(epoch int, first, second int64) State {
		return State{Epoch: epoch, Sources: map[string]Source{"a": {Position: first}, "b": {Position: second}}}
	}
	until := Until{Epoch: 2, Positions: map[string]int64{"a": 5, "b": 7}}
	for _, c := range []struct {
		at   State
		want bool
	}{{at(2, 5, 7), true}, {at(2, 5, 6), false}, {at(2, 4, 9), false}, {at(1, 9, 9), false}, {at(3, 0, 0), true}} {
		if got := until.Passed(c.at); got != c.want {
			t.Errorf("%+v: %v", c.at, got)
		}
	}
}

// Of what is finished, lost samples are not yielded, nor are those that were dropped.
func TestYieldedSamplesAreFinishedAndNotLost(t *testing.T) {
	s := State{Dropped: 2, Sources: map[string]Source{"files": {Position: 10, Ahead: [][2]int64{{12, 15}}, Lost: []int64{3, 13, 40}}}}
	if n, lost := s.Yielded(), s.LostSamples(); n != 10+3-2-2 || lost != 3 {
		t.Errorf("%d yielded, %d lost", n, lost)
	}
}
