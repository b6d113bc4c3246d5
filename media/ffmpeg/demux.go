//go:build cgo

package ffmpeg

// #cgo noescape hr_av_demux
// #cgo nocallback hr_av_demux
// #cgo noescape hr_av_demux_file
// #cgo nocallback hr_av_demux_file
// #include "load.h"
import "C"

import (
	"bytes"
	"io"
	"math"
	"unsafe"

	"github.com/headrace/headrace/media/av"
	"github.com/headrace/headrace/media/av/joined"
	"github.com/headrace/headrace/media/av/packets"
	"github.com/headrace/headrace/media/av/whole"
	"github.com/headrace/headrace/media/video"
)

// Demux finds all packets of a file whose bytes are in memory, in any container that
// FFmpeg knows and that is whole in itself: playlists are refused. Packets of package
// packets are a container, too. Every call opens the file again and keeps nothing of
// data.
func Demux(data []byte) (*File, error) {
	if packets.Probe(data) {
		return fromPackets(data)
	}
	lib, err := opened()
	if err != nil {
		return nil, err
	}
	size := int64(len(data))
	return demuxParts(joined.Parts(bytes.NewReader(data), size), size, func(p joined.Part) (*File, error) {
		var file *C.hr_av_file
		var text [C.HR_AV_TEXT]C.char
		part := data[p.From:p.To]
		if result := C.hr_av_demux(lib.c, &file, (*C.uint8_t)(unsafe.SliceData(part)), C.size_t(len(part)), &text[0]); result < 0 {
			return nil, whole.Blame(bytes.NewReader(part), p.Size(), failure(result, &text))
		}
		defer C.hr_av_forget(lib.c, file)
		f := told(file, p.Size())
		f.placed(bytes.NewReader(part))
		return f, f.whole(bytes.NewReader(part), p.From, file.cut != 0)
	})
}

// DemuxFile is Demux of a file that is open, and stays the caller's. It takes memory for
// the packets' places alone. The file may become shorter meanwhile: that is an error,
// where mapped memory would end the program.
func DemuxFile(file video.OpenFile) (*File, error) {
	var head [64]byte
	if n, _ := file.ReadAt(head[:], 0); packets.Probe(head[:n]) {
		data, err := io.ReadAll(io.NewSectionReader(file, 0, file.Size()))
		if err != nil {
			return nil, err
		}
		return fromPackets(data)
	}
	lib, err := opened()
	if err != nil {
		return nil, err
	}
	return demuxParts(joined.Parts(file, file.Size()), file.Size(), func(p joined.Part) (*File, error) {
		var found *C.hr_av_file
		var text [C.HR_AV_TEXT]C.char
		if result := C.hr_av_demux_file(lib.c, &found, C.int(file.Descriptor()), C.int64_t(p.From), C.int64_t(p.Size()), &text[0]); result < 0 {
			return nil, whole.Blame(io.NewSectionReader(file, p.From, p.Size()), p.Size(), failure(result, &text))
		}
		defer C.hr_av_forget(lib.c, found)
		f := told(found, p.Size())
		f.placed(io.NewSectionReader(file, p.From, p.Size()))
		return f, f.whole(io.NewSectionReader(file, p.From, p.Size()), p.From, found.cut != 0)
	})
}

// told is what the shim has found in a file of this size.
func told(file *C.hr_av_file, size int64) *File {
	f := &File{
		Format: C.GoString(&file.format[0]), size: size,
		extra:  bytes.Clone(unsafe.Slice((*byte)(file.extra), file.extra_size)),
		Tracks: make([]Track, file.tracks),
	}
	for i, c := range unsafe.Slice(file.track, file.tracks) {
		f.Tracks[i].tell(i, &c)
	}
	for _, p := range unsafe.Slice(file.part, file.parts) {
		if int(p.track) < len(f.Tracks) {
			f.Tracks[p.track].add(&p)
		}
	}
	for i := range f.Tracks {
		switch t := &f.Tracks[i]; {
		case isBare(f.Format):
			t.number()
		case f.Format == "avi" && t.Kind == av.Video:
			t.show()
		}
		f.Tracks[i].between = nil
	}
	return f
}

func (t *Track) tell(i int, c *C.hr_av_track) {
	t.Stream = av.Stream{
		Index: i, ID: int(c.id), Codec: C.GoString(&c.codec[0]), Language: C.GoString(&c.language[0]),
		Config:   C.GoBytes(unsafe.Pointer(c.config), C.int(c.config_size)),
		TimeBase: av.Rational{Num: int32(c.unit[0]), Den: int32(c.unit[1])},
		Default:  c.flags&C.HR_AV_TRACK_DEFAULT != 0,
	}
	a := &c.about
	if a.tag != 0 {
		t.Tag = string([]byte{byte(a.tag), byte(a.tag >> 8), byte(a.tag >> 16), byte(a.tag >> 24)})
	}
	t.Cover = c.flags&C.HR_AV_TRACK_COVER != 0
	t.guessed = c.flags&C.HR_AV_TRACK_GUESSED != 0
	t.Block, t.Bits, t.BitRate = int(a.block), int(a.bits), int(max(a.bit_rate, 0))
	switch c._type {
	case C.HR_AV_TRACK_VIDEO:
		t.Kind = av.Video
		t.Width, t.Height, t.Reorder, t.Siting = int(a.width), int(a.height), int(a.reorder), int(a.siting)
		t.Aspect = av.Rational{Num: 1, Den: 1}
		if r := (av.Rational{Num: int32(c.aspect[0]), Den: int32(c.aspect[1])}); r.Positive() {
			t.Aspect = r
		}
		t.FrameRate = av.Rational{Num: int32(c.rate[0]), Den: int32(c.rate[1])}
		t.Orientation = av.Upright
		if c.flags&C.HR_AV_TRACK_TURNED != 0 {
			t.Orientation = av.OrientationOf(int64(c.matrix[0]), int64(c.matrix[1]), int64(c.matrix[3]), int64(c.matrix[4]))
		}
		known := func(v C.int32_t) uint8 { // FFmpeg says 2, unspecified
			if v == 2 {
				return 0
			}
			return uint8(v)
		}
		t.Color = av.Color{Primaries: known(a.primaries), Transfer: known(a.transfer), Matrix: known(a.matrix), Range: av.Range(a._range)}
	case C.HR_AV_TRACK_AUDIO:
		t.Kind = av.Audio
		t.Rate, t.Channels, t.Padding = int(a.rate), int(a.channels), int(c.padding)
	}
}

func (t *Track) add(p *C.hr_av_part) {
	to := av.Packet{
		Offset: int64(p.offset), Size: int32(p.size), PTS: int64(p.pts), DTS: int64(p.dts),
		Duration: uint32(min(max(p.duration, 0), math.MaxUint32)),
		Key:      p.flags&C.HR_AV_PART_KEY != 0, Discard: p.flags&C.HR_AV_PART_DISCARD != 0,
	}
	if p.skip > 0 || p.cut > 0 {
		t.Trims = append(t.Trims, Trim{len(t.Packets), int(p.skip), int(p.cut)})
	}
	t.Packets = append(t.Packets, to)
	t.between = append(t.between, p.flags&C.HR_AV_PART_BETWEEN != 0)
	if t.cut = p.flags&C.HR_AV_PART_CORRUPT != 0; t.cut {
		t.marked = append(t.marked, len(t.Packets)-1)
	}
}
