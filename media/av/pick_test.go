package av

import (
	"errors"
	"math"
	"math/big"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// line makes a timeline of frames that last so many ticks.
func line(base Rational, lasts ...int64) *Timeline {
	l := &Timeline{Base: base}
	for _, d := range lasts {
		l.Start = append(l.Start, l.End)
		l.End += d
	}
	return l
}

// constant makes one of n frames, fps of them a second.
func constant(n int, fps int32) *Timeline {
	return line(Rational{1, fps * 512}, slices.Repeat([]int64{512}, n)...)
}

func anyLine() *rapid.Generator[*Timeline] {
	return rapid.Custom(func(t *rapid.T) *Timeline {
		base := Rational{rapid.SampledFrom([]int32{1, 1001}).Draw(t, "num"), rapid.SampledFrom([]int32{25, 600, 30000, 90000}).Draw(t, "den")}
		return line(base, rapid.SliceOfN(rapid.Int64Range(1, 40), 1, 60).Draw(t, "lasts")...)
	})
}

func first(int) int { return 0 }

func pick(t testing.TB, c Clip, l *Timeline, draw func(int) int) []int {
	t.Helper()
	clips, err := c.Pick(l, draw)
	if err != nil {
		t.Fatal(err)
	}
	return clips[0]
}

func equal(t *testing.T, got, want []int) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("frames %v, want %v", got, want)
	}
}

// Every start from which the clip fits is drawn, and no other.
func TestStrideStarts(t *testing.T) {
	for n := 1; n < 40; n++ {
		c := Clip{Frames: 4, Stride: 5}
		var fits []int
		for s := range n {
			if s+15 < n {
				fits = append(fits, s)
			}
		}
		asked := 1
		for drawn := 0; drawn < asked; drawn++ {
			got := pick(t, c, constant(n, 25), func(m int) int { asked = m; return drawn })
			if len(fits) == 0 {
				equal(t, got, []int{0, min(5, n-1), min(10, n-1), n - 1})
				continue
			}
			equal(t, got, []int{drawn, drawn + 5, drawn + 10, drawn + 15})
		}
		if asked != max(1, len(fits)) {
			t.Errorf("%d frames: one of %d starts is drawn, but %d fit", n, asked, len(fits))
		}
	}
}

func TestShortVideos(t *testing.T) {
	for short, want := range map[Short][]int{Repeat: {0, 2, 2, 2}, Loop: {0, 2, 1, 0}, Black: {0, 2, Blank, Blank}} {
		equal(t, pick(t, Clip{Frames: 4, Stride: 2, Short: short}, constant(3, 25), first), want)
		// Two steps of half a frame's time each: the same, twice as many.
		got := pick(t, Clip{Frames: 4, Rate: Rational{25, 2}, Short: short}, constant(3, 25), first)
		equal(t, got, want)
	}
	for _, c := range []Clip{
		{Frames: 4, Stride: 2}, {Frames: 4, Rate: Rational{25, 2}}, {Frames: 4}, {Segments: 4}, {Duration: 1}, {Duration: 1, Frames: 2}, {Duration: 0.1, Start: At, Seconds: 0.1},
	} {
		c.Short = Error
		if got, err := c.Pick(constant(3, 25), first); !errors.Is(err, ErrShort) {
			t.Errorf("%+v: %v, %v; want an error", c, got, err)
		}
	}
}

// The frame on screen is the last whose time is not after the step's, in exact
// arithmetic.
func TestRateEqualsBruteForce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := anyLine().Draw(t, "line")
		rate := Rational{rapid.Int32Range(1, 120).Draw(t, "fps"), rapid.SampledFrom([]int32{1, 2, 1001}).Draw(t, "per")}
		frames := rapid.IntRange(1, 12).Draw(t, "frames")
		at := func(tick int64) *big.Rat { return new(big.Rat).Mul(rat(l.Base), new(big.Rat).SetInt64(tick)) }
		step := func(from int64, i int) *big.Rat {
			return new(big.Rat).Add(at(from), new(big.Rat).Mul(rat(rate.Inverse()), new(big.Rat).SetInt64(int64(i))))
		}
		fits := 0
		for _, start := range l.Start {
			if step(start, frames-1).Cmp(at(l.End)) < 0 {
				fits++
			}
		}
		drawn, asked := 0, 1
		got := pick(t0(t), Clip{Frames: frames, Rate: rate, Short: Black}, l, func(n int) int {
			asked = n
			drawn = rapid.IntRange(0, n-1).Draw(t, "drawn")
			return drawn
		})
		if asked != max(1, fits) {
			t.Fatalf("one of %d starts is drawn, but %d fit", asked, fits)
		}
		for i, n := range got {
			when, want := step(l.Start[drawn], i), Blank
			if when.Cmp(at(l.End)) < 0 {
				for f, start := range l.Start {
					if at(start).Cmp(when) <= 0 {
						want = f
					}
				}
			}
			if n != want {
				t.Fatalf("step %d of %v is frame %d, want %d", i, got, n, want)
			}
		}
	})
}

func rat(r Rational) *big.Rat { return big.NewRat(int64(r.Num), int64(r.Den)) }

// t0 has pick fail the property.
func t0(t *rapid.T) testing.TB { return failing{TB: nil, t: t} }

type failing struct {
	testing.TB
	t *rapid.T
}

func (f failing) Helper()           {}
func (f failing) Fatal(args ...any) { f.t.Fatal(args...) }

func TestRateOfWholeVideo(t *testing.T) {
	equal(t, pick(t, Clip{Rate: Rational{2, 1}}, constant(26, 10), first), []int{0, 5, 10, 15, 20, 25})
	equal(t, pick(t, Clip{Rate: Rational{2, 1}}, constant(25, 10), first), []int{0, 5, 10, 15, 20})
	equal(t, pick(t, Clip{Rate: Rational{2, 1}, Start: At, Seconds: 1.1}, constant(25, 10), first), []int{11, 16, 21})
	equal(t, pick(t, Clip{Rate: Rational{20, 1}}, constant(2, 10), first), []int{0, 0, 1, 1})
	if got, err := (&Clip{Rate: Rational{1000, 1}}).Pick(line(Rational{1, 1}, 1<<60), first); err == nil {
		t.Errorf("a frame of 36 billion years gives %d frames", len(got[0]))
	}
}

func TestDuration(t *testing.T) {
	l := constant(100, 25)
	equal(t, pick(t, Clip{Duration: 0.2}, l, func(n int) int { return n - 1 }), []int{95, 96, 97, 98, 99})
	equal(t, pick(t, Clip{Duration: 0.2, Start: At, Seconds: 1}, l, first), []int{25, 26, 27, 28, 29})
	equal(t, pick(t, Clip{Duration: 0.4, Frames: 3, Start: Center}, l, first), []int{45, 50, 54})
	equal(t, pick(t, Clip{Duration: 1, Stride: 10, Start: Begin}, l, first), []int{0, 10, 20})
	equal(t, pick(t, Clip{Duration: 1, Rate: Rational{5, 1}, Start: Begin}, l, first), []int{0, 5, 10, 15, 20})
	equal(t, pick(t, Clip{Duration: 9, Frames: 3}, l, first), []int{0, 50, 99})
}

func TestClipsAreSpread(t *testing.T) {
	starts := func(c Clip) (s []int) {
		clips, err := c.Pick(constant(20, 25), first)
		if err != nil {
			t.Fatal(err)
		}
		for _, frames := range clips {
			s = append(s, frames[0])
		}
		return s
	}
	equal(t, starts(Clip{Frames: 2, Stride: 3, Clips: 5, Start: Begin}), []int{0, 4, 8, 12, 16})
	equal(t, starts(Clip{Frames: 2, Stride: 3, Clips: 4, Start: Center}), []int{2, 6, 10, 14})
	equal(t, starts(Clip{Frames: 2, Stride: 3, Start: Center}), []int{8})
}

// The middles of the parts, as the authors of TSN take them in tests: ⌊n/2N + i·n/N⌋
// where N divides n.
func TestSegments(t *testing.T) {
	for _, of := range []struct{ n, parts int }{{96, 8}, {100, 25}, {8, 8}, {70, 7}} {
		var want []int
		for i := range of.parts {
			tick := float64(of.n) / float64(of.parts)
			want = append(want, int(tick/2+tick*float64(i)))
		}
		equal(t, pick(t, Clip{Segments: of.parts, Start: Center}, constant(of.n, 25), first), want)
	}
	rapid.Check(t, func(t *rapid.T) {
		n, parts := rapid.IntRange(1, 200).Draw(t, "n"), rapid.IntRange(1, 50).Draw(t, "parts")
		got := pick(t0(t), Clip{Segments: parts}, constant(n, 25), func(m int) int { return rapid.IntRange(0, m-1).Draw(t, "drawn") })
		for i, f := range got {
			if lo, hi := i*n/parts, (i+1)*n/parts; f < lo || f >= max(lo+1, hi) || f >= n {
				t.Fatalf("segment %d of %d frames gave %d", i, n, f)
			}
		}
	})
}

func TestSpreadEqualsLinspace(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n, count := rapid.IntRange(1, 300).Draw(t, "n"), rapid.IntRange(1, 60).Draw(t, "count")
		for i, f := range pick(t0(t), Clip{Frames: count}, constant(n, 25), first) {
			at := new(big.Rat)
			if count > 1 {
				at.SetFrac64(int64(i*(n-1)), int64(count-1))
			}
			at.Add(at, big.NewRat(1, 2))
			if want := new(big.Int).Div(at.Num(), at.Denom()).Int64(); int64(f) != want {
				t.Fatalf("frame %d of %d among %d is %d, want %d", i, count, n, f, want)
			}
		}
	})
}

// How many frames qwen-vl-utils takes: a number of frames a second, clamped, and floored
// to a multiple.
func TestAdaptedEqualsQwen(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(8, 4000).Draw(t, "n")
		fps := rapid.SampledFrom([]int32{10, 24, 25, 30, 60}).Draw(t, "video fps")
		rate := rapid.Int32Range(1, 8).Draw(t, "fps")
		least, greatest := rapid.IntRange(1, 8).Draw(t, "min"), rapid.IntRange(8, 768).Draw(t, "max")
		const factor = 2

		floor := func(x float64) float64 { return math.Floor(x/factor) * factor }
		lo, hi := math.Ceil(float64(least)/factor)*factor, floor(float64(min(greatest, n)))
		frames := float64(n) * float64(rate) / float64(fps)
		want := int(floor(math.Min(math.Min(math.Max(frames, lo), hi), float64(n))))

		c := Clip{Rate: Rational{rate, 1}, Min: least, Max: greatest, Multiple: factor}
		if got := pick(t0(t), c, constant(n, fps), first); len(got) != want {
			t.Fatalf("%d frames, want %d", len(got), want)
		} else if got[0] != 0 || got[len(got)-1] != n-1 {
			t.Fatalf("frames %d to %d of %d", got[0], got[len(got)-1], n)
		}
	})
}

// A time that went through float32, or was printed with six digits, still means the frame
// that begins there.
func TestTimesFindTheirFrames(t *testing.T) {
	l := constant(4000, 30)
	for f := range 4000 {
		exact := float64(f) / 30
		for _, s := range []float64{exact, float64(float32(exact)), math.Floor(exact*1e6) / 1e6} {
			if got := l.At(l.Tick(s)); got != f {
				t.Fatalf("%v s is frame %d, want %d", s, got, f)
			}
		}
	}
	if l.At(-1) != -1 || l.At(l.End) != 3999 {
		t.Error("before the first frame is none, and after the end the last")
	}
}

func TestRefusedClips(t *testing.T) {
	for _, c := range []Clip{
		{Frames: -1}, {Frames: 1 << 25}, {Stride: 2, Rate: Rational{1, 1}}, {Segments: 3, Stride: 2}, {Segments: 3, Frames: 4}, {Rate: Rational{-1, 2}}, {Duration: math.NaN()},
		{Duration: math.Inf(1)}, {Seconds: -1}, {Min: 3}, {Rate: Rational{1, 1}, Min: 3, Frames: 2}, {Rate: Rational{1, 1}, Min: 3, Max: 2}, {Clips: 2, Start: At},
		{Frames: 2, Stride: 2, Duration: 1}, {Frames: 2, Rate: Rational{1, 1}, Duration: 1}, {Segments: 2, Start: At}, {Segments: 2, Duration: 1},
	} {
		if err := c.Check(); err == nil {
			t.Errorf("%+v is not refused", c)
		}
	}
	if _, err := (&Clip{}).Pick(&Timeline{Base: Rational{1, 25}}, first); !errors.Is(err, ErrNoFrames) {
		t.Errorf("a video without frames: %v", err)
	}
}

// Whatever is asked, the answer is frames of the video.
func TestPicksAreFrames(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := anyLine().Draw(t, "line")
		small := rapid.IntRange(0, 9)
		c := Clip{
			Frames: small.Draw(t, "frames"), Stride: small.Draw(t, "stride"), Segments: small.Draw(t, "segments"), Clips: small.Draw(t, "clips"),
			Rate: Rational{rapid.Int32Range(0, 70).Draw(t, "fps"), 1}, Duration: rapid.Float64Range(0, 2).Draw(t, "duration"),
			Start: Start(rapid.IntRange(0, 3).Draw(t, "start")), Seconds: rapid.Float64Range(0, 2).Draw(t, "seconds"),
			Min: small.Draw(t, "min"), Max: small.Draw(t, "max"), Multiple: small.Draw(t, "multiple"), Short: Short(rapid.IntRange(0, 3).Draw(t, "short")),
		}
		for _, drop := range []*int{&c.Frames, &c.Stride, &c.Segments, &c.Min, &c.Max, &c.Multiple} {
			if rapid.Bool().Draw(t, "drop") {
				*drop = 0
			}
		}
		if rapid.Bool().Draw(t, "no duration") {
			c.Duration = 0
		}
		if c.Rate.Num == 0 || rapid.Bool().Draw(t, "no rate") {
			c.Rate = Rational{}
		}
		clips, err := c.Pick(l, func(n int) int { return rapid.IntRange(0, n-1).Draw(t, "drawn") })
		if err != nil {
			return
		}
		if len(clips) != max(1, c.Clips) {
			t.Fatalf("%d clips, want %d", len(clips), c.Clips)
		}
		for _, frames := range clips {
			if c.Frames > 0 && len(frames) != c.Frames {
				t.Fatalf("%d frames, want %d", len(frames), c.Frames)
			}
			for _, f := range frames {
				if f >= l.Len() || f < 0 && (f != Blank || c.Short != Black) {
					t.Fatalf("frame %d of %d", f, l.Len())
				}
			}
		}
	})
}

// Chunks whose step is no more than what they span have every frame that a stride of 1
// can have.
func TestChunksCoverTheVideo(t *testing.T) {
	for n := range 70 {
		for _, c := range []Chunks{{8, 1, 8}, {8, 1, 5}, {4, 2, 8}, {4, 3, 2}, {1, 1, 1}, {8, 1, 11}} {
			seen := make([]bool, n)
			for k := range c.Len(n) {
				frames := c.At(n, k)
				if len(frames) == 0 {
					t.Fatalf("%+v of %d frames: chunk %d is empty", c, n, k)
				}
				if k < c.Len(n)-1 && len(frames) != c.Frames {
					t.Fatalf("%+v of %d frames: chunk %d has %d", c, n, k, len(frames))
				}
				for i, f := range frames {
					if f != k*c.Step+i*c.Stride || f >= n {
						t.Fatalf("%+v of %d frames: chunk %d has %v", c, n, k, frames)
					}
					seen[f] = true
				}
			}
			if c.Stride == 1 && c.Step <= c.Frames && slices.Contains(seen, false) {
				t.Fatalf("%+v of %d frames leaves some out: %v", c, n, seen)
			}
		}
	}
}
