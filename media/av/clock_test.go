package av_test

import (
	"slices"
	"testing"

	"github.com/headrace/headrace/media/av"
)

// video is packets of these times of display, one tick apart, with a key packet where a
// time is negative: -1 is the key packet of tick 0.
func video(times ...int64) (all []av.Moment) {
	for _, t := range times {
		m := av.Moment{PTS: t, DTS: av.NoTime, Duration: 1}
		if t < 0 {
			m.PTS, m.Key = -t-1, true
		}
		all = append(all, m)
	}
	return all
}

// through gives packets to a clock, as demuxers do.
func through(c av.Clock, packets []av.Moment) (pts []int64) {
	for i, m := range packets {
		if c.Restarts(m) {
			lowest := m.At()
			for _, next := range packets[i+1:] {
				if !av.Leads(m, next) {
					break
				}
				lowest = min(lowest, next.PTS)
			}
			c.Restart(m, lowest)
		}
		shift := c.Add(m)
		pts = append(pts, m.At()+shift)
	}
	return pts
}

func TestClocksGoOn(t *testing.T) {
	long := func(from int64, n int) (all []int64) {
		for i := range n {
			all = append(all, from+int64(i))
		}
		return all
	}
	for _, c := range []struct {
		name  string
		times []int64
		want  []int64
	}{
		{"one part", []int64{-1, 4, 2, 1, 3, -9, 6, 5, 7}, []int64{0, 4, 2, 1, 3, 8, 6, 5, 7}},
		{"the same again", []int64{-1, 2, 1, -1, 2, 1}, []int64{0, 2, 1, 3, 5, 4}},
		{"one frame each", []int64{-1, -1, -1}, []int64{0, 1, 2}},
		{"from within the part before", []int64{-1, 1, 2, 3, -3, 3, 4, 5}, []int64{0, 1, 2, 3, 4, 5, 6, 7}},
		{"to before the first", []int64{-101, 101, 102, -1, 1}, []int64{100, 101, 102, 103, 104}},
		{"forwards", []int64{-1, 1, -501, 501}, []int64{0, 1, 500, 501}},
		{"frames before a key frame", []int64{-1, 1, 2, -3, 0, 1, 3}, []int64{0, 1, 2, 5, 3, 4, 6}},
		{"three parts", []int64{-1, 1, -1, 1, -1, 1}, []int64{0, 1, 2, 3, 4, 5}},
		{"key frames alone", []int64{-5, -6, -7, -1, -2}, []int64{4, 5, 6, 7, 8}},
		{"frames late for minutes", []int64{-1, 9000, 3000, 1, 6000}, []int64{0, 9000, 3000, 1, 6000}},
		{
			"in the middle of a group", append(append([]int64{-1}, long(1, 40)...), long(2, 3)...),
			append(long(0, 41), 41, 42, 43),
		},
	} {
		got := through(av.NewClock(&av.Stream{Kind: av.Video}, 0), video(c.times...))
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

// A packet is decoded after those before it, in parts that hold back another number of
// frames.
func TestDecodingGoesOn(t *testing.T) {
	c := av.NewClock(&av.Stream{Kind: av.Video}, 0)
	packets := []av.Moment{
		{PTS: 10, DTS: 10, Duration: 1, Key: true}, {PTS: 11, DTS: 11, Duration: 1},
		{PTS: 10, DTS: 8, Duration: 1, Key: true}, {PTS: 12, DTS: 9, Duration: 1}, {PTS: 11, DTS: 10, Duration: 1},
	}
	last := int64(av.NoTime)
	for i, m := range packets {
		if restarts := c.Restarts(m); restarts != (i == 2) {
			t.Fatalf("packet %d: %v", i, restarts)
		} else if restarts {
			c.Restart(m, m.PTS)
		}
		shift := c.Add(m)
		if m.DTS+shift <= last {
			t.Errorf("packet %d is decoded at %d, the one before at %d", i, m.DTS+shift, last)
		}
		last = m.DTS + shift
	}
}

// FFmpeg counts on where the bits of a clock run out. It takes a clock that was set back
// by more than a minute for that, too.
func TestClocksOf33Bits(t *testing.T) {
	s := &av.Stream{Kind: av.Video}
	packets := []av.Moment{{PTS: 9e6, DTS: 9e6, Duration: 3600, Key: true}, {PTS: 1<<33 + 126000, DTS: 1<<33 + 126000, Duration: 3600, Key: true}}
	if got := through(av.NewClock(s, 33), packets); got[1]-got[0] != 3600 {
		t.Errorf("%v: the clock has gone on by %d", got, got[1]-got[0])
	}
	if got := through(av.NewClock(s, 0), packets); got[1] != packets[1].PTS {
		t.Errorf("a clock without an end has become %v", got)
	}
}

// A recorder of sound may be late now and then. That is not another part.
func TestSoundMayBeLate(t *testing.T) {
	c := av.NewClock(&av.Stream{Kind: av.Audio}, 0)
	var packets []av.Moment
	for _, pts := range []int64{0, 20, 40, 30, 60, 80, 100, 0, 20} {
		packets = append(packets, av.Moment{PTS: pts, DTS: pts, Duration: 20, Key: true})
	}
	want := []int64{0, 20, 40, 30, 60, 80, 100, 120, 140}
	if got := through(c, packets); !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}
