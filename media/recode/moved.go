package recode

import (
	"fmt"

	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/media/av"
	"github.com/headrace/headrace/media/av/packets"
)

// moved gives packets that are copied into another container their times there.
type moved struct {
	streams []packets.Stream
	earlier []int64 // by how much times are, in ticks of each stream
	last    []int64 // the DTS before
}

// from moves packets of these streams from a time to 0; nil: they keep theirs.
func from(zero Second, streams []packets.Stream) moved {
	m := moved{streams, make([]int64, len(streams)), make([]int64, len(streams))}
	for i := range streams {
		m.last[i] = packets.NoTime
		if zero != nil {
			m.earlier[i] = nearest(zero, streams[i].TimeBase)
		}
	}
	return m
}

func (m *moved) move(p *packets.Packet) error {
	if p.Other != nil {
		return fmt.Errorf("%w: the file is a chain of recordings whose headers differ, "+
			"and another container has room for one: split it, or decode it", media.ErrUnsupported)
	}
	p.Discard = false
	for _, t := range []*int64{&p.PTS, &p.DTS} {
		if *t != packets.NoTime {
			*t -= m.earlier[p.Stream]
		}
	}
	// The first samples of a recording that was joined are not part of it, and overlap
	// those before.
	if p.Begins && m.streams[p.Stream].Kind == av.Audio && p.DTS <= m.last[p.Stream] {
		p.PTS, p.DTS = m.last[p.Stream]+1, m.last[p.Stream]+1
	}
	m.last[p.Stream] = p.DTS
	return nil
}
