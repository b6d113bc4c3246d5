package progress

import (
	"strings"
	"testing"
)

func composition(source string, from, to int64) *Composition {
	return &Composition{Members: 3, Hash: "0123456789abcdef", Items: []ItemRange{{Source: source, Range: [2]int64{from, to}}}}
}

// What a state says wrong is named.
func TestStatesThatCannotBe(t *testing.T) {
	good := func() State {
		return State{
			Version: StateVersion,
			Sources: map[string]SourceState{"one": {Low: 2}, "two": {Low: 1, Ahead: [][2]int64{{3, 4}}}},
			Merges:  map[string]Progress{"merge": {Low: 4}},
			Parts:   []PartState{{Stage: "twice", Source: "one", Item: []int64{2}, Progress: Progress{Low: 1}}},
		}
	}
	of := Stages{Sources: map[string]bool{"one": true, "two": true}, Merges: map[string]bool{"merge": true},
		Makers:  map[string]string{"twice": "", "loose": "it is loose"},
		Judging: map[string]bool{"judge": true}, Aggregates: map[string]bool{"hoard": true}}
	for _, s := range []State{{}, good()} {
		if err := CheckState(s, of); err != nil {
			t.Error(err)
		}
	}
	source := func(change func(*SourceState)) func(*State) {
		return func(s *State) {
			one := s.Sources["one"]
			change(&one)
			s.Sources["one"] = one
		}
	}
	part := func(change func(*PartState)) func(*State) {
		return func(s *State) { change(&s.Parts[0]) }
	}
	for want, change := range map[string]func(*State){
		"has version 0, this is version 1":                                      func(s *State) { s.Version = 0 },
		"has version 2, this is version 1":                                      func(s *State) { s.Version = 2 },
		"lacks the source two":                                                  func(s *State) { delete(s.Sources, "two") },
		"has a source three, which the flow lacks":                              func(s *State) { s.Sources["three"] = SourceState{} },
		"has source one in epoch 1 and source two in epoch 0":                   source(func(s *SourceState) { s.Epoch = 1 }),
		"source one: epoch -1":                                                  source(func(s *SourceState) { s.Epoch = -1 }),
		"source one: epoch 9223372036854775807":                                 source(func(s *SourceState) { s.Epoch = 1<<63 - 1 }),
		"source one: position -1":                                               source(func(s *SourceState) { s.Low = -1 }),
		"source one: position 281474976710656":                                  source(func(s *SourceState) { s.Low = 1 << 48 }),
		"source one: the range [5, 4)":                                          source(func(s *SourceState) { s.Ahead = [][2]int64{{5, 4}} }),
		"source one: the range [-5, 4)":                                         source(func(s *SourceState) { s.Ahead = [][2]int64{{-5, 4}} }),
		"source one: the range [5, 281474976710656)":                            source(func(s *SourceState) { s.Ahead = [][2]int64{{5, 1 << 48}} }),
		"source one: the range [3, 5) is not beyond 7: ranges must be in order": source(func(s *SourceState) { s.Ahead = [][2]int64{{6, 7}, {3, 5}} }),
		"source one: the range [5, 9) is not beyond 7: ranges must be in order": source(func(s *SourceState) { s.Ahead = [][2]int64{{3, 7}, {5, 9}} }),
		"source one: the range [1, 3) is not beyond 2: ranges must be in order": source(func(s *SourceState) { s.Ahead = [][2]int64{{1, 3}} }),
		"source one: the open position 1, which is finished": source(func(s *SourceState) {
			s.Lost,
				s.Open = []int64{1}, []int64{1}
		}),
		"merge merge: the range [6, 8) is not beyond 9: ranges must be in order": func(s *State) { s.Merges["merge"] = Progress{Ahead: [][2]int64{{8, 9}, {6, 8}}} },
		"outputs of stage twice: the range [2, 4) is not beyond 5: ranges must":  part(func(p *PartState) { p.Ahead = [][2]int64{{4, 5}, {2, 4}} }),
		"of an item [2 281474976710656] of source one, which cannot be":          part(func(p *PartState) { p.Item = []int64{2, 1 << 48} }),
		"0 members, of 0 ranges":           part(func(p *PartState) { p.Of = new(Composition) }),
		"its members differ from its name": part(func(p *PartState) { p.Of = composition("one", 3, 5) }),
		"in stage twice: the range [5, 2)": part(func(p *PartState) { p.Of = composition("one", 5, 2) }),
		"of an item of source three, which the flow lacks": part(func(p *PartState) {
			p.Of = composition("one", 2, 3)
			p.Of.Items = append(p.Of.Items, ItemRange{Source: "three", Range: [2]int64{0, 1}})
		}),
		"whose positions [1 4] are finished": part(func(p *PartState) { p.Of = composition("one", 1, 4) }),
		"two items that are made of the same": func(s *State) {
			s.Parts[0].Of = composition("one", 2, 5)
			s.Parts = append(s.Parts, PartState{Stage: "twice", Source: "one", Item: []int64{4}})
		},
		"source one: the lost position -3":                            source(func(s *SourceState) { s.Lost = []int64{-3} }),
		"source one: the open position 7, which lost":                 source(func(s *SourceState) { s.Open = []int64{7} }),
		"lacks the turns of the merge merge":                          func(s *State) { s.Merges = nil },
		"has turns of a merge other, which the flow lacks":            func(s *State) { s.Merges["other"] = Progress{} },
		"merge merge: the range [1, 1)":                               func(s *State) { s.Merges["merge"] = Progress{Ahead: [][2]int64{{1, 1}}} },
		"has outputs of a stage fill, which the flow lacks":           part(func(p *PartState) { p.Stage = "fill" }),
		"outputs of stage twice: position -1":                         part(func(p *PartState) { p.Low = -1 }),
		"of an item [2] of source three, which cannot be":             part(func(p *PartState) { p.Source = "three" }),
		"of an item [] of source one, which cannot be":                part(func(p *PartState) { p.Item = nil }),
		"of an item [2 -1] of source one, which cannot be":            part(func(p *PartState) { p.Item = []int64{2, -1} }),
		"of the item [1] of source one as if there were more":         part(func(p *PartState) { p.Item = []int64{1} }),
		"of stage twice of the item [2] of source one twice":          func(s *State) { s.Parts = append(s.Parts, s.Parts[0]) },
		"has outputs of a stage other, which the flow lacks":          func(s *State) { s.Parts[0].Stage = "other" },
		"that may be put together of others now, because it is loose": part(func(p *PartState) { p.Stage = "loose" }),
		"has losses of a stage twice, and no stage of that name":      func(s *State) { s.Losses = map[string]int64{"twice": 1} },
		"is not valid: -1 losses of the stage judge":                  func(s *State) { s.Losses = map[string]int64{"judge": -1} },
		"has a memory of a stage twice, and no aggregate":             func(s *State) { s.Memories = map[string]Memory{"twice": {Groups: 1}} },
		"is not valid: 0 groups of the stage hoard":                   func(s *State) { s.Memories = map[string]Memory{"hoard": {State: "x"}} },
		"pipe: the state to resume from is not valid: source o":       source(func(s *SourceState) { s.Low = -1 }),
	} {
		bad := good()
		change(&bad)
		if err := CheckState(bad, of); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("wanted %q, got %v", want, err)
		}
	}
}
