package progress

import (
	"slices"
	"strconv"
	"testing"

	"pgregory.net/rapid"
)

// A log that goes on from a memory has the same choices as the one that it is of, from
// the first turn that is not finished up to the one that the chooser goes on with.
func TestChoiceLogsGoOn(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const inputs = 300 // of which some take two bytes
		log, err := NewChoiceLog(inputs, 0, Memory{})
		if err != nil {
			t.Fatal(err)
		}
		var all []int
		states := map[int64]string{0: ""} // by the turn that each is asked for
		for range rapid.IntRange(1, 8).Draw(t, "times") {
			some := rapid.SliceOfN(rapid.IntRange(0, inputs-1), 1, 70).Draw(t, "inputs")
			all = append(all, some...)
			states[int64(len(all))] = strconv.Itoa(len(all))
			log.Add(some, strconv.Itoa(len(all)))
		}

		low := int64(0)
		for range 3 {
			low = rapid.Int64Range(low, int64(len(all))).Draw(t, "low")
			done := Progress{Low: low}
			if from := rapid.Int64Range(low+1, low+5).Draw(t, "ahead"); from < int64(len(all)) {
				done.Ahead = [][2]int64{{from, rapid.Int64Range(from+1, int64(len(all))).Draw(t, "end")}}
			}
			last := low
			if done.Ahead != nil {
				last = done.Ahead[0][1]
			}
			m := log.memory(done)
			if last == 0 {
				if m != (Memory{}) {
					t.Fatalf("nothing is finished, and it remembers %v", m)
				}
				continue
			}

			again, err := NewChoiceLog(inputs, low, m)
			if err != nil {
				t.Fatal(err)
			}
			if m.Groups < last || again.Then() != states[m.Groups] || states[m.Groups] == "" {
				t.Fatalf("after turn %d the chooser goes on at %d with %q", last, m.Groups, again.Then())
			}
			var got []int
			for turn := low; ; turn++ {
				input, ok := again.At(turn)
				if !ok {
					break
				}
				got = append(got, input)
			}
			if !slices.Equal(got, all[low:m.Groups]) {
				t.Fatalf("from turn %d on it has %v, wanted %v", low, got, all[low:m.Groups])
			}
		}
	})
}

func TestChoiceLogsOfOthersAreRefused(t *testing.T) {
	for _, c := range []struct {
		low int64
		m   Memory
	}{
		{3, Memory{}},
		{3, Memory{Groups: 2, State: `{}`}},
		{3, Memory{Groups: 4, State: `{}`}},
		{3, Memory{Groups: 4, State: `{"chosen":"Ag=="}`}}, // input 2 of 2
		{3, Memory{Groups: 4, State: `{"chosen":"gA=="}`}}, // half a number
		{3, Memory{Groups: 4, State: `[]`}},
	} {
		if l, err := NewChoiceLog(2, c.low, c.m); err == nil || l != nil {
			t.Errorf("%+v: %v", c, l)
		}
	}
}
