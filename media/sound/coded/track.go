package coded

import (
	"errors"
	"fmt"
	"io"

	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/media/av"
	"github.com/headrace/headrace/media/ffmpeg"
	"github.com/headrace/headrace/media/sound"
)

// A Track is packets, and what decodes them.
type Track struct {
	Decoder ffmpeg.Stream
	Packets []Packet
	data    [2][]byte      // the file; packets that a container has in pieces
	content *sound.Content // the file, if it is not in memory

	unit    av.Rational // of Duration; 0/0: there is none
	before  int64       // samples that come before the recording
	after   int64       // samples that follow it
	fixedBy int         // samples of every packet, if the container's format says so
	cutLast bool        // the container says how many samples of the last packet belong to it

	keep  bool // what is there of a file that is cut off is read, and silence for packets that are damaged
	short bool // the file is cut off, or lacks something
	holed bool // packets may be missing in its middle
}

// A Packet is one of a track.
type Packet struct {
	offset   int64
	size     int32
	duration uint32
	in       uint8 // which data
}

// bytes are those of a packet, or of its beginning, if the file is not in memory.
func (t *Track) bytes(p *Packet) []byte {
	if t.content == nil || p.in == 1 {
		return t.data[p.in][p.offset:][:p.size]
	}
	b, err := t.content.Bytes(p.offset, int(min(p.size, mostHead)))
	if err != nil { // which reading it will return
		return nil
	}
	return b
}

// mostHead is more than any packet takes to say how many samples it gives.
const mostHead = 64

// lasts is how many samples a packet has, by the container; 0: it does not say.
func (t *Track) lasts(packet, rate int) int {
	d := int64(t.Packets[packet].duration)
	if t.unit.Num <= 0 || t.unit.Den <= 0 || d <= 0 || rate <= 0 {
		return 0
	}
	return int(min(av.Rescale(d, t.unit, av.Rational{Num: 1, Den: int32(rate)}, av.Nearest), mostSamples))
}

// mostSamples is more than a packet of any codec has.
const mostSamples = 1 << 16

// guessed is how many samples a packet has whose first bytes are damaged: as many as the
// container says, or as the one before.
func (t *Track) guessed(packet int, own []int32) int {
	rate := t.Decoder.Rate
	if t.Decoder.Codec == "opus" {
		rate = opusRate
	}
	if n := t.lasts(packet, rate); n > 0 || packet == 0 {
		return n
	}
	return int(own[packet-1])
}

// mostPacket is far more than a packet of sound takes.
const mostPacket = 1 << 26

// read reads the packets that a decoder gets next, which are somewhere in the file, and
// returns them side by side.
func (t *Track) read(packets []ffmpeg.Packet, room []byte) ([]byte, error) {
	room = room[:0]
	for i := range packets {
		p := &packets[i]
		at, n := len(room), p.Size
		if end := int64(p.Offset) + int64(n); end > t.content.Size() {
			return room, fmt.Errorf("%w: %w: it ends at byte %d, and the packet at %d", media.ErrCorrupt,
				av.ErrTruncated, t.content.Size(), end)
		}
		if n > mostPacket {
			return room, fmt.Errorf("%w: a packet of %d bytes", media.ErrCorrupt, n)
		}
		room = append(room, make([]byte, n)...)
		got, err := t.content.File().ReadAt(room[at:], int64(p.Offset))
		if err != nil && !(errors.Is(err, io.EOF) && got == n) {
			if errors.Is(err, io.EOF) {
				err = fmt.Errorf("%w: the file was made shorter while it was read", media.ErrCorrupt)
			}
			return room, err
		}
		p.Offset = at
	}
	return room, nil
}
