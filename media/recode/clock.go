package recode

import (
	"io"
	"math"
	"math/big"

	"github.com/headrace/headrace/media/av"
	"github.com/headrace/headrace/media/av/packets"
	headers "github.com/headrace/headrace/media/av/slices"
	"github.com/headrace/headrace/media/recode/places"
	"github.com/headrace/headrace/media/sound/coded"
)

// Second is a time, exact. Nil is none.
type Second = *big.Rat

// almost is what a second that was computed in floating point may be after the tick that
// is meant.
var almost = big.NewRat(1, 1_000_000)

// ticks returns the first tick of a time base that is not before a time.
func ticks(t Second, base av.Rational) int64 {
	n := new(big.Rat).Mul(t, big.NewRat(int64(base.Den), int64(base.Num)))
	n.Sub(n, almost)
	q, rest := new(big.Int).DivMod(n.Num(), n.Denom(), new(big.Int))
	if rest.Sign() > 0 {
		q.Add(q, big.NewInt(1))
	}
	if !q.IsInt64() {
		if q.Sign() < 0 {
			return math.MinInt64 / 4
		}
		return math.MaxInt64 / 4
	}
	return min(max(q.Int64(), math.MinInt64/4), math.MaxInt64/4)
}

func seconds(tick int64, base av.Rational) Second {
	return new(big.Rat).Mul(big.NewRat(tick, 1), big.NewRat(int64(base.Num), int64(base.Den)))
}

// reader is what [ffmpeg.Reader] is.
type reader interface {
	Read(p *packets.Packet) error
	Seek(stream int, time int64) error
}

// mostLooked is how many packets are looked at for the first frame of a stream that is
// displayed, or the first sample.
const mostLooked = 4096

// Clock is when streams begin, in the time of their container.
type Clock struct {
	Zero   Second   // the first frame of the first video, or the first sample
	Begins []Second // of each stream; nil: it has no packets among the first

	// Cut reports of each stream of video whether the file begins in the middle of a
	// group of its pictures, and has a key packet later.
	Cut []bool

	// First are the first samples of a window, by the streams that are wanted, once their
	// packets have come.
	First map[int]Second

	grids   []places.Grid // of each stream of sound whose times are coarse
	widest  bool          // no more comes before the window
	guessed bool          // the file has no times, and FFmpeg guesses them by the size of packets
}

// clock reads the beginnings of streams. It corrects the codec of those of which the
// first packet tells another.
func clock(r reader, streams []packets.Stream) (*Clock, error) {
	c := &Clock{Begins: make([]Second, len(streams)), First: map[int]Second{}, grids: make([]places.Grid, len(streams))}
	first := make([]int64, len(streams)) // PTS that is lowest so far
	known := make([]bool, len(streams))
	at := make([]places.Places, len(streams))
	c.Cut = make([]bool, len(streams))
	heads := make([]head, len(streams))
	left := 0
	for i := range streams {
		first[i] = math.MaxInt64
		if countsTime(&streams[i]) {
			left++
		} else {
			known[i] = true
		}
	}

	var p packets.Packet
	for range mostLooked {
		if left == 0 {
			break
		}
		err := r.Read(&p)
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, err
		}
		s := &streams[p.Stream]
		if known[p.Stream] {
			continue
		}
		settle(&p)
		if s.Kind == av.Audio {
			s.Codec = coded.Layer(s.Codec, p.Data)
			if c.Begins[p.Stream] == nil {
				c.Begins[p.Stream] = beginsAt(s, &p)
			}
			known[p.Stream] = true
			if s.Rate > 0 && places.Coarse(s) {
				if at[p.Stream].One.Den == 0 {
					at[p.Stream] = places.New(s, places.Grid{}, true)
				}
				c.grids[p.Stream], known[p.Stream] = places.GridFrom(&at[p.Stream], &p)
			}
			if known[p.Stream] {
				left--
			}
			continue
		}
		if heads[p.Stream].begins(&p) {
			c.Cut[p.Stream], first[p.Stream] = true, math.MaxInt64
		}
		if heads[p.Stream].lacks(s, &p) {
			continue
		}
		if first[p.Stream] < math.MaxInt64 && heads[p.Stream].key != nil && p.DTS != packets.NoTime && p.DTS >= first[p.Stream] {
			known[p.Stream] = true
			left--
		} else if !p.Discard && p.PTS != packets.NoTime {
			first[p.Stream] = min(first[p.Stream], p.PTS)
		}
	}
	for i := range streams {
		if s := &streams[i]; s.Kind == av.Video && first[i] < math.MaxInt64 {
			c.Begins[i] = seconds(first[i], s.TimeBase)
		}
	}
	for _, kind := range []av.Kind{av.Video, av.Audio} {
		for i := range streams {
			if c.Zero == nil && streams[i].Kind == kind && !streams[i].Cover {
				c.Zero = c.Begins[i]
			}
		}
	}
	if c.Zero == nil {
		c.Zero = new(big.Rat)
	}
	return c, nil
}

// head is the beginning of a stream of video.
type head struct {
	cut bool            // it began with a packet that is not key
	key *packets.Packet // the first that is
}

// begins reports whether a packet is the first key packet after others.
func (h *head) begins(p *packets.Packet) bool {
	if h.key != nil {
		return false
	}
	if p.Key {
		is := *p
		h.key = &is
		return h.cut
	}
	h.cut = true
	return false
}

// lacks reports whether a packet refers to what was before the first key packet.
func (h *head) lacks(s *packets.Stream, p *packets.Packet) bool {
	if h.key == nil || p.Key || p.PTS >= h.key.PTS {
		return false
	}
	orphan := headers.Orphan(s.Codec, s.Config)
	return orphan != nil && orphan(h.key.Data, p.Data)
}

// beginsAt is when the sound of a stream begins, by its first packet: with one of its
// samples, where these have a rate.
func beginsAt(s *packets.Stream, p *packets.Packet) Second {
	at := p.PTS
	if places.StartsEmpty(s) {
		at += p.Duration
	}
	if s.Rate <= 0 {
		return seconds(at, s.TimeBase)
	}
	skip := int64(p.Skip)
	if skip == 0 {
		skip = int64(coded.Priming(&s.Stream))
	}
	one := av.Rational{Num: 1, Den: int32(s.Rate)}
	return seconds(av.Rescale(at, s.TimeBase, one, av.Nearest)+skip, one)
}

func countsTime(s *packets.Stream) bool {
	return s.Kind != av.Other && !s.Cover && s.TimeBase.Positive()
}

// settle gives a packet without a time of its own that of its decoding.
func settle(p *packets.Packet) {
	if p.PTS == packets.NoTime {
		p.PTS = p.DTS
	}
}
