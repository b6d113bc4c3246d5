package coded

import (
	"errors"
	"io"
)

// patch is what stands in for packets that are damaged, where they are kept: silence, as
// long as what they should have, so that the others stay where they are.
type patch struct {
	why     error // what was damaged first; nil: nothing
	silent  int64 // samples of silence that come next
	waiting int64 // samples of the frame that come then
	still   bool  // what more has returned is silence
	over    bool  // no frame follows
	gave    int   // packets up to the last that gave a frame
	lost    []int // packets after them, as long as nobody knows how many samples they have
}

func (p *patch) lose(packet int, why error) {
	if p.why == nil {
		p.why = why
	}
	if packet >= p.gave {
		p.lost = append(p.lost, packet)
	}
}

// first takes the first frame, which is of a packet.
func (p *patch) first(r *Recording, packet int) {
	if packet > 0 {
		r.given = r.start(packet) + int64(r.frame.Sound.Samples)
	}
	p.lost = nil
	r.place(packet)
}

// lost notes that a packet gives nothing.
func (r *Recording) lost(packet int, why error) {
	r.patch.lose(packet, why)
	if r.each > 0 || r.starts != nil {
		r.given += r.start(packet+1) - r.start(packet)
		r.patch.lost = nil
	}
}

// patched is more of a recording whose damage is kept.
func (r *Recording) patched(until int64) (n int64, err error) {
	p := &r.patch
	for p.silent == 0 && p.waiting == 0 {
		last := min(r.packet(until-1), len(r.track.Packets)-1) + 1
		i, err := 0, io.EOF
		if !p.over {
			i, err = r.decode(last)
		}
		switch {
		case err == io.EOF:
			if p.why == nil {
				p.why = r.damaged(len(r.track.Packets)-1, errors.New("samples are missing at the end"))
			}
			p.over, p.silent = true, until-r.end
		case err != nil:
			return 0, err
		default:
			r.place(i)
		}
	}

	if p.still = p.silent > 0; p.still {
		n = min(p.silent, kept)
		p.silent -= n
		return n, nil
	}
	n, p.waiting = p.waiting, 0
	return n, nil
}

// place finds where the frame belongs, which is of packet i. What comes too late, or is
// of another kind, is left out.
func (r *Recording) place(i int) {
	_, err := r.checked(i)
	if err != nil && r.patch.why == nil {
		r.patch.why = err
	}
	begin, n := r.placed(i)
	if r.changes() || begin < r.end {
		return
	}
	r.patch.silent = begin - r.end
	r.patch.waiting = min(n, int64(r.frame.Sound.Samples))
}

// floats writes the samples that come next.
func (r *Recording) floats(to []float32) {
	if r.patch.still {
		clear(to)
		return
	}
	r.frame.Sound.Floats(to)
}

// appendLost keeps silence for packets that gave nothing before the frame, in a track
// whose packets do not say how many samples they have: as many as the container says, or
// as the frame has.
func (r *Recording) appendLost() {
	r.patch.still = true
	for _, packet := range r.patch.lost {
		n := r.track.lasts(packet, r.info.Rate)
		if n == 0 {
			n = r.frame.Sound.Samples
		}
		if len(r.decoded) <= mostDecoded {
			r.append(n)
		}
	}
	r.patch.still, r.patch.lost = false, nil
}
