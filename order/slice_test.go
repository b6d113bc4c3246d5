package order_test

import (
	"math"
	"slices"
	"testing"

	"github.com/headrace/headrace/order"

	"pgregory.net/rapid"
)

// python is what a slice of range(n) has, as the reference of Python's slices says it.
func python(n int64, r order.Range) (all []int64) {
	end := func(given *int64, usual int64) int64 {
		if given == nil {
			return usual
		}
		i := *given
		if i < 0 {
			i += n
		}
		return i
	}
	for i, k := end(r.Start, 0), int64(0); i < end(r.Stop, n); i += r.Step {
		if i >= 0 && i < n {
			all = append(all, i)
		} else if i < 0 { // begins at 0, as if the start were there
			i = -r.Step
		}
		if k++; k > 4*n+8 {
			break
		}
	}
	return all
}

func drawRange(t *rapid.T) order.Range {
	end := func(name string) *int64 {
		if rapid.Bool().Draw(t, name+" is left out") {
			return nil
		}
		return new(rapid.Int64Range(-150, 150).Draw(t, name))
	}
	return order.Range{Start: end("start"), Stop: end("stop"), Step: rapid.Int64Range(1, 9).Draw(t, "step")}
}

func TestRangesAreSlicesOfPython(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n, r := rapid.Int64Range(0, 120).Draw(t, "n"), drawRange(t)
		s, want := r.Of(n), python(n, r)
		var got []int64
		for k := range s.Len() {
			got = append(got, s.At(k))
		}
		if !slices.Equal(got, want) {
			t.Fatalf("%v of %d: %v, want %v", r, n, got, want)
		}
		for i := range n + 1 {
			if at, _ := slices.BinarySearch(want, i); s.Below(i) != int64(at) {
				t.Fatalf("%v: %d are below %d, want %d", want, s.Below(i), i, at)
			}
		}
	})
}

func TestRangesAtTheEndsOfNumbers(t *testing.T) {
	least, most := int64(math.MinInt64), int64(math.MaxInt64)
	for _, r := range []order.Range{
		{Start: &most, Step: 1}, {Stop: &least, Step: 1}, {Start: &least, Stop: &most, Step: most},
	} {
		if s := r.Of(1 << 40); s.Len() > 1 || s.Len() == 1 && s.At(0) != 0 {
			t.Errorf("%v: %v", r, s)
		}
	}
}

func TestMembers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.OneOf(rapid.Int64Range(0, 2000), rapid.Int64Range(0, 20_000)).Draw(t, "n")
		key := order.NewKey(rapid.Uint64().Draw(t, "seed"), 0, 0, 0)
		share := rapid.SampledFrom([]float64{0, 0.001, 0.1, 0.5, 0.99, 1}).Draw(t, "share")
		var want []int64
		for i := range n {
			if key.Float64(uint64(i), 0) < share {
				want = append(want, i)
			}
		}
		m := order.MembersOf(n, func(i int64) bool { return key.Float64(uint64(i), 0) < share })
		if m.Len() != int64(len(want)) {
			t.Fatalf("%d members, want %d", m.Len(), len(want))
		}
		for k, i := range want {
			if got := m.At(int64(k)); got != i || m.Below(i) != int64(k) || m.Below(i+1) != int64(k+1) {
				t.Fatalf("member %d is %d, want %d; %d are below it", k, got, i, m.Below(i))
			}
		}
		all := make([]int64, len(want))
		for k := range all {
			all[k] = int64(k)
		}
		if m.Each(all); !slices.Equal(all, want) {
			t.Fatal("together they are not what each is")
		}
		if m.Below(0) != 0 || m.Below(n) != m.Len() || m.Below(n+100) != m.Len() {
			t.Fatal("ends")
		}
	})
}

// The side of a name depends on it and the seed alone, and is evenly spread.
func TestSides(t *testing.T) {
	const name = "data/train/cat/1.jpg"
	if got := order.Side(7, name); got != order.Side(7, name) || got == order.Side(8, name) {
		t.Error("a side is not of its name and seed")
	}
	for seed := range uint64(3) {
		counts := make([]int, 20)
		for i := range 20_000 {
			counts[int(20*order.Side(seed, "data/"+string(rune('a'+i%7))+"/"+padded(i)))]++
		}
		if d := deviation(counts); d > chance {
			t.Errorf("seed %d: sides deviate by %.1f: %v", seed, d, counts)
		}
	}
}

func padded(i int) string {
	var b []byte
	for range 6 {
		b = append(b, byte('0'+i%10))
		i /= 10
	}
	slices.Reverse(b)
	return string(b) + ".jpg"
}

// Sides are for ever: who splits data again must find the same parts.
func TestSidesAreForEver(t *testing.T) {
	for name, want := range map[string]float64{
		"": 0.17020318886408048, "a": 0.17965967183046438, "data/train/cat/1.jpg": 0.4280083448342422, "é": 0.4874123292320973,
	} {
		if got := order.Side(0, name); got != want {
			t.Errorf("%q is at %v, and was at %v", name, got, want)
		}
	}
}
