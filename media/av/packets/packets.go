// Package packets is coded packets apart from their file.
//
// They are those of one or several streams, with all that a decoder elsewhere needs, and
// are written as bytes that any machine reads again.
//
// The bytes are a head of 64, a JSON text about the streams, a table with a row of 64
// for each packet, and the packets. Numbers are little-endian:
//
//	head  "HRPKTS\r\n", version, bytes of text, packets, bytes of data: uint64 each;
//	      CRC-32C of text, of the table, of the data, of the head so far: uint32 each;
//	      8 zeros
//	row   offset in the data, PTS, DTS, duration: int64 each; size, side data behind
//	      them, stream, flags, skip, cut: uint32 each; 8 zeros
//
// Nothing in them depends on a release of FFmpeg: codecs and side data go by their names.
package packets

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"math"

	"github.com/headrace/headrace/media/av"
)

// NoTime is a time that is not known.
const NoTime = av.NoTime

// Stream is what is known of a stream before its first packet.
type Stream struct {
	av.Stream
	FrameRate   av.Rational // frames a second on average, of video; 0/0 if it is not known
	Reorder     int         // frames that come later than their packets, at most
	Siting      int         // of chroma, by FFmpeg's numbers
	Block, Bits int         // bytes of a block, bits of a sample, of audio
	BitRate     int         `json:",omitempty"` // bits of a second, of audio, as the container says
	Padding     int         // samples that the encoder has put before the first
	Cover       bool        // a still beside the sound
	Start       int64       // where it begins, in its time base; NoTime: the container does not say it
}

// Packet is one packet.
type Packet struct {
	Stream             int // its place in File.Streams
	PTS, DTS, Duration int64
	Key                bool    // decoding can begin here
	Discard            bool    // it is decoded for others' sake, and not shown
	Corrupt            bool    // the container says that it is damaged
	Between            bool    // it is shown before the last packet that is not
	Skip, Cut          uint32  // samples at its beginning and end that are not part of the recording
	Begins             bool    // another recording begins with it, which needs a decoder of its own
	Other              *Stream // what that one is, where it needs another kind of decoder
	Data, Side         []byte  // side: what the container says of it besides, as hrav.h has it
}

// File is packets of some streams, in the order of the file that they were in.
type File struct {
	Format  string // FFmpeg's names of the container
	Streams []Stream
	Packets []Packet
}

const (
	magic   = "HRPKTS\r\n"
	version = 1
	head    = 64
	row     = 64
)

// Flags of a row.
const (
	isKey = 1 << iota
	isDiscarded
	isCorrupt
)

var (
	castagnoli = crc32.MakeTable(crc32.Castagnoli)
	le         = binary.LittleEndian
)

// about is the text.
type about struct {
	Format  string   `json:"format"`
	Streams []Stream `json:"streams"`
}

// Append writes the packets behind b.
func (f *File) Append(b []byte) ([]byte, error) {
	text, err := json.Marshal(about{f.Format, f.Streams})
	if err != nil {
		return nil, err
	}
	begin := len(b)
	b = append(b, make([]byte, head)...)
	b = append(b, text...)
	for (len(b)-begin)%8 != 0 { // so that rows are aligned
		b = append(b, ' ')
	}
	tableAt, at := len(b), int64(0)
	for i := range f.Packets {
		p := &f.Packets[i]
		b = appendRow(b, p, at)
		at += int64(len(p.Data) + len(p.Side))
	}
	dataAt := len(b)
	for i := range f.Packets {
		b = append(append(b, f.Packets[i].Data...), f.Packets[i].Side...)
	}

	h := b[begin:begin:dataAt]
	h = append(h, magic...)
	for _, n := range []int{version, tableAt - begin - head, len(f.Packets), len(b) - dataAt} {
		h = le.AppendUint64(h, uint64(n))
	}
	h = le.AppendUint32(h, crc32.Checksum(b[begin+head:tableAt], castagnoli))
	h = le.AppendUint32(h, crc32.Checksum(b[tableAt:dataAt], castagnoli))
	h = le.AppendUint32(h, crc32.Checksum(b[dataAt:], castagnoli))
	le.AppendUint32(h, crc32.Checksum(h, castagnoli))
	return b, nil
}

func appendRow(b []byte, p *Packet, at int64) []byte {
	for _, n := range []int64{at, p.PTS, p.DTS, p.Duration} {
		b = le.AppendUint64(b, uint64(n))
	}
	flags := 0
	for i, set := range []bool{p.Key, p.Discard, p.Corrupt} {
		if set {
			flags |= 1 << i
		}
	}
	for _, n := range []int{len(p.Data), len(p.Side), p.Stream, flags, int(p.Skip), int(p.Cut)} {
		b = le.AppendUint32(b, uint32(n))
	}
	return append(b, make([]byte, 8)...)
}

// ErrFormat marks bytes that are not packets, or damaged.
var ErrFormat = errors.New("not packets, or damaged")

// Probe reports whether bytes begin as packets do.
func Probe(data []byte) bool { return len(data) >= head && string(data[:len(magic)]) == magic }

func damaged(format string, a ...any) error {
	return fmt.Errorf("packets: %w: %s", ErrFormat, fmt.Sprintf(format, a...))
}

// Parse reads packets, whose data stay where they are. Nothing of the bytes is believed
// that was not checked.
func Parse(data []byte) (*File, error) {
	if !Probe(data) {
		return nil, damaged("they begin with %q", data[:min(len(data), 8)])
	}
	if crc32.Checksum(data[:52], castagnoli) != le.Uint32(data[52:]) {
		return nil, damaged("the head's checksum is wrong")
	}
	if v := le.Uint64(data[8:]); v != version {
		return nil, damaged("version %d: this release reads version %d", v, version)
	}
	left := uint64(len(data) - head)
	texts, count, bytesOfData := le.Uint64(data[16:]), le.Uint64(data[24:]), le.Uint64(data[32:])
	if texts > left || count > (left-texts)/row || bytesOfData != left-texts-count*row {
		return nil, damaged("%d bytes: %d of text, %d packets and %d of data do not fit", len(data), texts, count, bytesOfData)
	}
	text, table := data[head:][:texts], data[head+texts:][:count*row]
	payload := data[head+texts+count*row:]
	for i, part := range [][]byte{text, table, payload} {
		if crc32.Checksum(part, castagnoli) != le.Uint32(data[40+4*i:]) {
			return nil, damaged("the checksum of the %s is wrong", [...]string{"text", "table", "data"}[i])
		}
	}

	var a about
	d := json.NewDecoder(bytes.NewReader(text))
	if err := d.Decode(&a); err != nil {
		return nil, damaged("%v", err)
	}
	f := &File{Format: a.Format, Streams: a.Streams, Packets: make([]Packet, count)}
	for i := range f.Streams {
		if err := f.Streams[i].check(); err != nil {
			return nil, err
		}
	}
	for i := range f.Packets {
		if err := f.Packets[i].parse(table[i*row:][:row], payload, len(f.Streams)); err != nil {
			return nil, fmt.Errorf("%w: packet %d", err, i)
		}
	}
	return f, nil
}

// check refuses numbers with which nobody counts on.
func (s *Stream) check() error {
	small := func(numbers ...int) bool {
		for _, n := range numbers {
			if n < 0 || n > 1<<20 {
				return false
			}
		}
		return true
	}
	switch {
	case s.Kind < av.Other || s.Kind > av.Audio,
		!s.TimeBase.Positive(),
		!small(s.Width, s.Height, s.Depth, s.Channels, s.Reorder, s.Siting, s.Block, s.Bits),
		s.Rate < 0 || s.Rate > 1<<30,
		s.BitRate < 0,
		s.Orientation < 0 || s.Orientation > av.Rotate270,
		len(s.Tag) > 4 || len(s.Codec) > 31 || len(s.Language) > 7 || len(s.Config) > 1<<26:
		return damaged("what it says of stream %d", s.Index)
	}
	return nil
}

func (p *Packet) parse(r, payload []byte, streams int) error {
	at, size, side := le.Uint64(r), uint64(le.Uint32(r[32:])), uint64(le.Uint32(r[36:]))
	stream, flags := le.Uint32(r[40:]), le.Uint32(r[44:])
	if at > uint64(len(payload)) || size+side > uint64(len(payload))-at || uint64(stream) >= uint64(streams) || size > math.MaxInt32 {
		return damaged("%d bytes at %d, of stream %d", size+side, at, stream)
	}
	*p = Packet{
		Stream: int(stream), PTS: int64(le.Uint64(r[8:])), DTS: int64(le.Uint64(r[16:])), Duration: int64(le.Uint64(r[24:])),
		Key: flags&isKey != 0, Discard: flags&isDiscarded != 0, Corrupt: flags&isCorrupt != 0,
		Skip: le.Uint32(r[48:]), Cut: le.Uint32(r[52:]),
		Data: payload[at:][:size:size], Side: payload[at+size:][:side:side],
	}
	return nil
}
