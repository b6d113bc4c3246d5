//go:build cgo

package ffmpeg

import (
	"slices"

	"github.com/headrace/headrace/media/av"
	"github.com/headrace/headrace/media/av/packets"
)

// AVI has no times of display. FFmpeg makes some of the order in which packets come, and
// is wrong about DivX and Xvid that pack two pictures into one. A group of packets, which
// is one and those after it that are shown before it, shares their times.

// show has packets be shown in their order. Where packets are key by the container's word
// alone and follow one another, an index may be missing, and only the first is known to
// be.
func (t *Track) show() {
	var shared []int64
	for i := 0; i < len(t.Packets); {
		end := i + 1
		for end < len(t.Packets) && t.between[end] {
			end++
		}
		if end > i+1 {
			shared = shared[:0]
			for k := i; k < end; k++ {
				shared = append(shared, t.Packets[k].PTS)
			}
			slices.Sort(shared)
			for k := i; k < end; k++ {
				t.Packets[k].PTS = shared[(k-i+len(shared)-1)%len(shared)]
			}
		}
		i = end
	}
	for i := len(t.Packets) - 1; i > 0 && t.guessed; i-- {
		t.Packets[i].Key = t.Packets[i].Key && !t.Packets[i-1].Key
	}
}

// show has the group that begins with a packet be shown in its order, and believes what
// is said of keys as far as show of tracks does.
func (r *Reader) show(p *packets.Packet) {
	if r.Format != "avi" || r.Streams[p.Stream].Kind != av.Video {
		return
	}
	if r.Guesses(p.Stream) {
		was := r.keyed[p.Stream]
		r.keyed[p.Stream] = p.Key
		p.Key = p.Key && !was
	}
	if p.Between {
		return
	}
	shared := []int64{p.PTS}
	r.look(p.Stream, func(next *packets.Packet) bool {
		if next.Between {
			shared = append(shared, next.PTS)
		}
		return next.Between
	})
	if len(shared) == 1 {
		return
	}
	slices.Sort(shared)
	p.PTS = shared[len(shared)-1]
	for i, n := 0, 0; n < len(shared)-1; i++ {
		if next := &r.ahead.packets[i]; next.Stream == p.Stream {
			next.PTS = shared[n]
			n++
		}
	}
}

// Guesses reports whether nothing but the container of a stream says which of its packets
// are key, and that may say it of all.
func (r *Reader) Guesses(stream int) bool {
	return r.Format == "avi" && r.Streams[stream].Kind == av.Video && r.now.guessed[stream]
}
