package av

import (
	"errors"
	"math/rand/v2"
	"slices"
	"testing"
)

// line is a timeline of frames at these ticks of 1/100 s.
func lineOf(ticks []int64, end int64) *Timeline {
	return &Timeline{Base: Rational{1, 100}, Start: ticks, End: end}
}

// The pieces of a video, by what is written down: each begins Step after the one before,
// has every Stride-th frame, and the last one has the last frame.
func TestPieces(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 3000 {
		n, frames, stride := 1+rng.IntN(60), 1+rng.IntN(9), 1+rng.IntN(4)
		step := 1 + rng.IntN(2*frames*stride)
		ticks := make([]int64, n)
		for i := range ticks {
			ticks[i] = int64(i) * 4
		}
		line := lineOf(ticks, int64(n)*4)
		for _, short := range []Short{Repeat, Loop, Black} {
			s := Sampling{Clip: Clip{Frames: frames, Stride: stride, Short: short}, Step: step}
			count, err := s.Len(line)
			if err != nil {
				t.Fatal(err)
			}
			seen := map[int]bool{}
			for k := range count {
				got, err := s.At(line, k, nil)
				if err != nil || len(got) != frames {
					t.Fatal(got, err)
				}
				had := 0
				for i, f := range got {
					want := k*step + i*stride
					switch {
					case want < n:
						had++
						seen[f] = true
					case short == Repeat:
						want = got[had-1]
					case short == Loop:
						want = got[i%had]
					case short == Black:
						want = Blank
					}
					if f != want {
						t.Fatalf("%d frames, %+v: piece %d is %v", n, s, k, got)
					}
				}
			}
			if k := (count - 1) * step; k >= n || step <= frames*stride && k+(frames-1)*stride+stride < n {
				t.Fatalf("%d frames, %+v: %d pieces", n, s, count)
			}
			if stride == 1 && step <= frames && len(seen) != n {
				t.Fatalf("%d frames, %+v: only %d come", n, s, len(seen))
			}
		}
		// Without those that are not whole, no frame stands for another.
		s := Sampling{Clip: Clip{Frames: frames, Stride: stride, Short: Error}, Step: step, Drop: true}
		count, err := s.Len(line)
		if err != nil {
			t.Fatal(err)
		}
		for k := range count {
			if got, err := s.At(line, k, nil); err != nil || len(got) != frames || got[frames-1] != k*step+(frames-1)*stride {
				t.Fatal(got, err)
			}
		}
		if full := k(n, frames, stride, step); count != full {
			t.Fatalf("%d frames, %+v: %d whole pieces, not %d", n, s, count, full)
		}
	}
}

// k is how many pieces are whole, up to the first that has the last frame.
func k(n, frames, stride, step int) (count int) {
	span := (frames-1)*stride + 1
	for first := 0; first+span <= n; first += step {
		count++
		if first+span == n {
			break
		}
	}
	return count
}

// Pieces at a rate are those of what is on screen at its times, also where the frames
// come at odd ones.
func TestPiecesAtARate(t *testing.T) {
	line := lineOf([]int64{0, 3, 5, 40, 41, 90}, 100)
	all := []int{0, 2, 2, 2, 3, 4, 4, 4, 4, 5} // at every 10 ticks: brute force by hand
	s := Sampling{Clip: Clip{Frames: 4, Rate: Rational{10, 1}}, Step: 4}
	count, err := s.Len(line)
	if err != nil || count != 3 {
		t.Fatal(count, err)
	}
	var got []int
	for k := range count {
		frames, err := s.At(line, k, nil)
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, frames...)
	}
	if want := append(slices.Clone(all), 5, 5); !slices.Equal(got, want) {
		t.Errorf("%v, not %v", got, want)
	}
}

// Clips from several places are those that Pick gives together.
func TestClipsFromSeveralPlaces(t *testing.T) {
	ticks := make([]int64, 50)
	for i := range ticks {
		ticks[i] = int64(4 * i)
	}
	line := lineOf(ticks, 200)
	for _, start := range []Start{Center, Begin} {
		c := Clip{Frames: 4, Stride: 3, Clips: 3, Start: start}
		want, err := c.Pick(line, nil)
		if err != nil {
			t.Fatal(err)
		}
		s := Sampling{Clip: c}
		if n, err := s.Len(line); n != 3 || err != nil {
			t.Fatal(n, err)
		}
		for k := range want {
			if got, err := s.At(line, k, nil); err != nil || !slices.Equal(got, want[k]) {
				t.Errorf("clip %d: %v, not %v", k, got, want[k])
			}
		}
	}
	s := Sampling{Clip: Clip{Frames: 40, Stride: 3, Clips: 3, Short: Error}}
	if _, err := s.At(line, 0, func(int) int { return 0 }); !errors.Is(err, ErrShort) {
		t.Error(err)
	}
	if n, err := s.Len(line); n != 3 || err != nil { // each is a bad sample
		t.Error(n, err)
	}
	if s.Drop = true; true {
		if n, err := s.Len(line); n != 0 || err != nil {
			t.Error(n, err)
		}
	}
	if _, err := s.Len(&Timeline{Base: Rational{1, 100}}); !errors.Is(err, ErrNoFrames) {
		t.Error(err)
	}
}
