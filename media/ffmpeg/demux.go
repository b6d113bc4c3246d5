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
		result := C.hr_av_demux_file(lib.c, &found, C.int(file.Descriptor()),
			C.int64_t(p.From), C.int64_t(p.Size()), &text[0])
		if result < 0 {
			return nil, whole.Blame(io.NewSectionReader(file, p.From, p.Size()), p.Size(), failure(result, &text))
		}
		defer C.hr_av_forget(lib.c, found)
		f := told(found, p.Size())
		f.placed(io.NewSectionReader(file, p.From, p.Size()))
		return f, f.whole(io.NewSectionReader(file, p.From, p.Size()), p.From, found.cut != 0)
	})
}

// fromPackets is packets as a file whose bytes they are.
func fromPackets(data []byte) (*File, error) {
	p, err := packets.Parse(data)
	if err != nil {
		return nil, corrupt(err)
	}
	f := &File{Format: p.Format, Tracks: make([]Track, len(p.Streams)), size: int64(len(data))}
	for i := range p.Streams {
		s := &p.Streams[i]
		f.Tracks[i] = Track{
			Stream: s.Stream, Cover: s.Cover, Reorder: s.Reorder, FrameRate: s.FrameRate, Siting: s.Siting, Block: s.Block, Bits: s.Bits,
			BitRate: s.BitRate, Padding: s.Padding,
		}
		f.Tracks[i].Index = i
	}
	for i := range p.Packets {
		p := &p.Packets[i]
		part := C.hr_av_part{
			pts: C.int64_t(p.PTS), dts: C.int64_t(p.DTS), duration: C.int64_t(p.Duration), size: C.uint32_t(len(p.Data)),
			skip: C.uint32_t(p.Skip), cut: C.uint32_t(p.Cut),
			offset: C.uint64_t(uintptr(unsafe.Pointer(unsafe.SliceData(p.Data))) - uintptr(unsafe.Pointer(unsafe.SliceData(data)))),
		}
		if p.Key {
			part.flags |= C.HR_AV_PART_KEY
		}
		if p.Discard {
			part.flags |= C.HR_AV_PART_DISCARD
		}
		f.Tracks[p.Stream].add(&part)
	}
	return f, nil
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
