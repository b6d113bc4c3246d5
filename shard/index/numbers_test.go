package index

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// Runs of neighbours, in any order, have the numbers that each sample has by itself.
func TestNumbersAreThoseOfEachSample(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 30 {
		s, err := Parse(odd(r, 1+r.IntN(400)).Encode())
		if err != nil {
			t.Fatal(err)
		}
		numbers := s.Numbers()
		for range 50 {
			i := r.IntN(s.Len())
			left, err := numbers.Seek(i)
			if err != nil || left < 1 || left > groupSize || i+left > s.Len() {
				t.Fatalf("sample %d of %d: %d left, %v", i, s.Len(), left, err)
			}
			n := 1 + r.IntN(left)
			compareNumbers(t, s, numbers, i, n)
		}
	}
}

func compareNumbers(t *testing.T, s *Segment, numbers *Numbers, from, n int) {
	t.Helper()
	ints, floats := make([]int64, n), make([]float64, n)
	for f := range s.Ints {
		numbers.Ints(ints, from, f)
		if least, most := numbers.Bounds(f); least > slices.Min(ints) || most < slices.Max(ints) {
			t.Fatalf("number %d of samples from %d on is not from %d to %d", f, from, least, most)
		}
		first := -1
		for k := range n {
			want, err := s.Int(from+k, f)
			if err != nil || ints[k] != want {
				t.Fatalf("number %d of sample %d: %d, want %d, %v", f, from+k, ints[k], want, err)
			}
			none, _ := s.None(from+k, f)
			if none && first < 0 {
				first = k
			}
			if numbers.Nones(n, from, f)>>k&1 == 1 != none {
				t.Fatalf("whether sample %d has none of number %d: %v", from+k, f, !none)
			}
		}
		if got := numbers.None(n, from, f); got != first {
			t.Fatalf("the first of %d without number %d from %d on: %d, want %d", n, f, from, got, first)
		}
	}
	for f := range s.Floats {
		numbers.Floats(floats, from, f)
		for k := range n {
			if want, err := s.Float(from+k, f); err != nil || math.Float64bits(want) != math.Float64bits(floats[k]) {
				t.Fatalf("float %d of sample %d: %v, want %v, %v", f, from+k, floats[k], want, err)
			}
			if none, _ := s.NoFloat(from+k, f); numbers.NoFloats(n, from, f)>>k&1 == 1 != none {
				t.Fatalf("whether sample %d has none of float %d: %v", from+k, f, !none)
			}
		}
	}
	comparePlaces(t, s, from, n)
	keyed := false
	for k := range n {
		want, _ := s.Key(from+k, nil)
		if got, err := numbers.Key(from+k, nil); err != nil || !slices.Equal(got, want) {
			t.Fatalf("key of sample %d: %q, want %q", from+k, got, want)
		}
		keyed = keyed || len(want) > 0
	}
	if keyed && numbers.Keyless() {
		t.Fatalf("samples from %d on have keys", from)
	}
}

// comparePlaces compares the parts of each field in a group with those of each sample.
func comparePlaces(t *testing.T, s *Segment, from, n int) {
	t.Helper()
	var all [GroupSize]Part
	for f := range s.Fields {
		if err := s.PartsOf(from, f, &all); err != nil {
			t.Fatal(err)
		}
		for k := range n {
			parts, _ := s.Parts(from+k, nil)
			want := Part{Field: -1}
			if at := slices.IndexFunc(parts, func(p Part) bool { return p.Field == f }); at >= 0 {
				want = parts[at]
			}
			if got := all[(from+k)%GroupSize]; got.Field != want.Field || got.Field >= 0 && got != want {
				t.Fatalf("field %d of sample %d: %v, want %v", f, from+k, got, want)
			}
		}
	}
}

// A damaged segment is an error, or other numbers, and never a panic.
func TestNumbersOfDamagedSegments(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	whole := odd(r, 100).Encode()
	for range 2000 {
		b := slices.Clone(whole)
		for range 1 + r.IntN(8) {
			b[r.IntN(len(b))] = byte(r.Uint32())
		}
		s, err := Parse(b)
		if err != nil {
			continue
		}
		numbers := s.Numbers()
		for i := range min(s.Len(), 128) {
			left, err := numbers.Seek(i)
			if err != nil {
				continue
			}
			for f := range s.Ints {
				numbers.Ints(make([]int64, left), i, f)
				numbers.None(left, i, f)
				numbers.Nones(left, i, f)
				numbers.Bounds(f)
			}
			for f := range s.Floats {
				numbers.Floats(make([]float64, left), i, f)
				numbers.NoFloats(left, i, f)
			}
			for f := range s.Fields {
				var parts [GroupSize]Part
				_ = s.PartsOf(i, f, &parts)
			}
		}
	}
}
