package progress

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// A message is what travels through the model of a run: an item, or what remains to be
// said of one when all that was made of it has gone ahead.
type message struct {
	lineage Lineage
	value   string    // "": it is no item
	from    []int64   // the positions that it is about
	members []message // of a batch
}

// modelStage is a stage of the model: "fan" makes several of one item, "drop" leaves some
// out, a number makes batches.
type modelStage struct {
	name  string
	kind  string
	count int
}

type modelRun struct {
	t       *rapid.T
	n       int64
	stages  []modelStage
	tracker *Tracker
	saved   State
	lost    map[int64]bool // the positions of which something is
}

// begin is the run of all stages, with what they send to the consumer, in order.
func (r *modelRun) begin() []message {
	r.tracker = NewTracker(r.saved)
	r.tracker.AddSource("numbers", r.saved.Sources["numbers"])
	done := NewPositionSet(r.saved.Sources["numbers"])
	var all []message
	for pos := range r.n {
		if !done.Has(pos) {
			all = append(all, message{Single(Place(0, pos)), fmt.Sprint(pos), []int64{pos}, nil})
		}
	}
	for _, s := range r.stages {
		switch s.kind {
		case "fan":
			all = r.fan(s, all)
		case "drop":
			for i, m := range all {
				if chance(m.value, s.count+1) {
					all[i].value = ""
				}
			}
		default:
			all = r.batch(s, all)
		}
	}
	return all
}

func (r *modelRun) fan(s modelStage, in []message) (out []message) {
	unfinished := r.tracker.UnfinishedOf(s.name, r.saved.Parts)
	for _, m := range in {
		if m.value == "" {
			out = append(out, m)
			continue
		}
		skip, err := unfinished.Claim(&m.lineage, 0)
		if err != nil {
			r.t.Fatalf("%s: %v", m.value, err)
		}
		f := FanOut{Stage: s.name, Parent: m.lineage, Skip: skip}
		for i := range saltOf(m.value) % uint64(s.count+1) {
			child, ok := f.Next()
			if !ok {
				continue
			}
			of := m
			if len(m.members) > 0 { // what is taken out of a batch is about its member
				of = m.members[min(int(i), len(m.members)-1)]
			}
			out = append(out, message{child, fmt.Sprintf("%s.%d", m.value, i), of.from, nil})
		}
		if err := f.Unmade(); err != nil {
			r.t.Fatal(err)
		}
		out = append(out, message{lineage: f.End()}) // finished already or not: it says how many there are
	}
	if unfinished != nil {
		if err := unfinished.Missing(); err != nil {
			r.t.Fatal(err)
		}
	}
	return out
}

// batch puts items together, and loses some of them.
func (r *modelRun) batch(s modelStage, in []message) (out []message) {
	var b *message
	for _, m := range in {
		if m.value == "" {
			out = append(out, m)
			continue
		}
		if b == nil {
			b = new(message)
		}
		if chance(m.value, 3) {
			b.lineage.Aside(m.lineage, true)
			b.lineage.Lose(LostInput{m.lineage, modelLoss{}})
			for _, pos := range m.from {
				r.lost[pos] = true
			}
			continue
		}
		b.lineage.Join(m.lineage, true)
		b.members, b.from, b.value = append(b.members, m), append(b.from, m.from...), b.value+"("+m.value+")"
		if len(b.members) == s.count {
			out, b = append(out, *b), nil
		}
	}
	if b != nil {
		out = append(out, *b)
	}
	return out
}

// chance is true for one name in n, the same in every run.
func chance(name string, n int) bool { return saltOf(name)/7%uint64(n) == 0 }

func numbers(n int) (all []int) {
	for i := range n {
		all = append(all, i)
	}
	return all
}

type modelLoss struct{}

func (modelLoss) CountedBy() string { return "" }

// A run that is cut anywhere, its messages finished in any order, and resumed, as often
// as one likes, gives every item once, and knows in the end what was lost.
func TestCutRunsGiveEverythingOnce(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		for range 10 {
			cutRun(rt)
		}
	})
}

func cutRun(rt *rapid.T) {
	r := &modelRun{t: rt, n: rapid.Int64Range(1, 12).Draw(rt, "items"), lost: make(map[int64]bool)}
	of := Stages{Sources: map[string]bool{"numbers": true}, Makers: map[string]string{}}
	for i := range rapid.IntRange(0, 4).Draw(rt, "stages") {
		s := modelStage{fmt.Sprint("stage", i), rapid.SampledFrom([]string{"fan", "batch", "fan", "drop"}).Draw(rt, "kind"),
			rapid.IntRange(1, 4).Draw(rt, "count")}
		r.stages, of.Makers[s.name] = append(r.stages, s), ""
	}
	var want, got []string
	for _, m := range r.begin() {
		if m.value != "" {
			want = append(want, m.value)
		}
	}

	for over := false; !over; {
		all := r.begin()
		order := rapid.Permutation(numbers(len(all))).Draw(rt, "order")
		if over = rapid.Bool().Draw(rt, "to the end"); !over {
			order = order[:rapid.IntRange(0, len(all)).Draw(rt, "cut")]
		}
		for _, i := range order {
			m := all[i]
			r.tracker.Finish(&m.lineage)
			if m.value != "" {
				got = append(got, m.value)
			}
		}

		state := r.tracker.State()
		if again := r.tracker.State(); !reflect.DeepEqual(again, state) {
			rt.Fatalf("asked again, the state is %+v, not %+v", again, state)
		}
		text, err := json.Marshal(state)
		r.saved = State{}
		if err != nil || json.Unmarshal(text, &r.saved) != nil {
			rt.Fatalf("%v: %s", err, text)
		}
		if err := CheckState(r.saved, of); err != nil {
			rt.Fatalf("%s: %v", text, err)
		}
	}

	slices.Sort(want)
	if slices.Sort(got); !slices.Equal(got, want) {
		rt.Fatalf("%v came, not %v", got, want)
	}
	end := r.saved.Sources["numbers"]
	if end.Low != r.n || end.Ahead != nil || end.Open != nil || r.saved.Parts != nil {
		rt.Fatalf("the end is %+v", r.saved)
	}
	slices.Sort(end.Lost)
	if all := slices.Sorted(maps.Keys(r.lost)); !slices.Equal(end.Lost, all) {
		rt.Fatalf("%v were lost, and the state says %v", all, end.Lost)
	}
}
