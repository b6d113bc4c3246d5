// Package joined finds files that were joined byte by byte, of the containers in which
// each of them has headers of its own that those before do not speak for: Ogg, where that
// is called a chain and radio stations make them, FLV, Matroska, ASF, and FLAC.
package joined

import (
	"bytes"
	"encoding/binary"
	"io"
	"math"
	"math/bits"

	"github.com/headrace/headrace/media/av/mpa"
)

// A Part is one of the files.
type Part struct{ From, To int64 }

// Size is how many bytes it has.
func (p Part) Size() int64 { return p.To - p.From }

// Chain are the parts of a file whose sound is decoded apart: each is a recording as if
// it were alone, whose first samples have nothing to do with the last before them. Of
// others there is one.
func Chain(r io.ReaderAt, size int64) []Part {
	if isMatroska(r) {
		return []Part{{0, size}}
	}
	return Parts(r, size)
}

// Parts are the files that one is made of, one after the other: itself, if it is not
// joined. Tags before the first are left out.
func Parts(r io.ReaderAt, size int64) []Part {
	from := Begin(r, size)
	all := parts(io.NewSectionReader(r, from, size-from), size-from)
	for i := range all {
		all[i].From += from
		all[i].To += from
	}
	return all
}

// Begin is where a file begins: after tags of ID3v2, if it is one in which FFmpeg, which
// skips them itself, then takes places and sizes for wrong.
func Begin(r io.ReaderAt, size int64) int64 {
	from, err := mpa.Tags(r)
	if err != nil || from == 0 || from >= size {
		return 0
	}
	var head [8]byte
	n, _ := r.ReadAt(head[:], from)
	for _, name := range []string{"OggS", "RIFF", "RF64", "BW64", "riff", "caff", ".snd", "ftyp", "moov", "mdat", "wide", "free", "skip"} {
		if at := bytes.Index(head[:n], []byte(name)); at == 0 || at == 4 {
			return from
		}
	}
	return 0
}

func parts(r io.ReaderAt, size int64) []Part {
	f := &file{ReaderAt: r, size: size}
	var starts []int64
	switch head := f.bytes(0, 4); {
	case string(head) == "OggS":
		starts = ogg(f)
	case len(head) == 4 && string(head) == "FLV\x01":
		starts = flv(f)
	case string(head) == ebml:
		starts = matroska(f)
	case string(head) == "fLaC":
		starts = flac(f)
	case string(head) == asfHeader[:4]:
		starts = asf(f)
	}
	all := []Part{{0, size}}
	for _, at := range starts {
		all[len(all)-1].To = at
		all = append(all, Part{at, size})
	}
	return all
}

// most is how many parts a file may have. What follows is one.
const most = 1 << 16

// ogg follows the pages of Ogg to those with which a stream begins, after others.
func ogg(f *file) (starts []int64) {
	const begins = 2
	within := false // what is not a beginning has come
	for at := int64(0); len(starts) < most; {
		b := f.bytes(at, 27+255)
		if len(b) < 27 || string(b[:4]) != "OggS" || len(b) < 27+int(b[26]) {
			return starts
		}
		first := b[5]&begins != 0
		if first && within {
			starts = append(starts, at)
		}
		within = !first
		n := int64(27 + int(b[26]))
		for _, lacing := range b[27:n] {
			n += int64(lacing)
		}
		at += n
	}
	return starts
}

// flac finds the heads of other files among the frames, which do not say how long they
// are: 63 bits that come nowhere by chance.
func flac(f *file) (starts []int64) {
	const mark = 8 // bytes of the name, and of the head of the block that comes first
	for at := int64(mark); len(starts) < most; {
		b := f.bytes(at, len(f.window))
		i := bytes.Index(b, []byte("fLaC"))
		switch {
		case len(b) < mark:
			return starts
		case i < 0 || i+mark > len(b):
			at += int64(max(len(b)-mark+1, 1))
			continue
		case b[i+4]&0x7F == 0 && b[i+5] == 0 && b[i+6] == 0 && b[i+7] == 34:
			starts = append(starts, at+int64(i))
		}
		at += int64(i + 1)
	}
	return starts
}

// flv follows the tags of FLV to the header of another file.
func flv(f *file) (starts []int64) {
	const header, tag, last = 9, 11, 4
	for at := int64(header + last); len(starts) < most; {
		b := f.bytes(at, header+last)
		switch {
		case len(b) < header+last:
			return starts
		case string(b[:4]) == "FLV\x01" && binary.BigEndian.Uint32(b[5:]) == header:
			starts = append(starts, at)
			at += header + last
		case b[0]&0x1F != 8 && b[0]&0x1F != 9 && b[0]&0x1F != 18:
			return starts
		default:
			at += tag + int64(b[1])<<16 + int64(b[2])<<8 + int64(b[3]) + last
		}
	}
	return starts
}

// ebml begins a file of Matroska.
const ebml = "\x1A\x45\xDF\xA3"

func isMatroska(r io.ReaderAt) bool {
	var head [4]byte
	n, _ := r.ReadAt(head[:], 0)
	return string(head[:n]) == ebml
}

// matroska follows the elements that are in no other. One without a size may go on to the
// end of the file: FFmpeg reads what was joined to that.
func matroska(f *file) (starts []int64) {
	for at := int64(0); len(starts) < most; {
		b := f.bytes(at, 12)
		if len(b) < 12 || b[0] == 0 {
			return starts
		}
		if at > 0 && string(b[:4]) == ebml {
			starts = append(starts, at)
		}
		id := bits.LeadingZeros8(b[0]) + 1
		if id > 4 || b[id] == 0 {
			return starts
		}
		n := bits.LeadingZeros8(b[id]) + 1
		size, all := uint64(0), uint64(1)<<(7*n)-1
		for _, c := range b[id:min(id+n, len(b))] {
			size = size<<8 | uint64(c)
		}
		if size &= all; size == all || size > math.MaxInt64/2 {
			return starts
		}
		at += int64(id+n) + int64(size)
	}
	return starts
}

// asfHeader begins a file of ASF, as Windows Media has it.
const asfHeader = "\x30\x26\xB2\x75\x8E\x66\xCF\x11\xA6\xD9\x00\xAA\x00\x62\xCE\x6C"

// asf follows the objects of ASF. The packets of a broadcast have no size, and go on to
// the end of the file.
func asf(f *file) (starts []int64) {
	for at := int64(0); len(starts) < most; {
		b := f.bytes(at, 24)
		if len(b) < 24 {
			return starts
		}
		if at > 0 && string(b[:16]) == asfHeader {
			starts = append(starts, at)
		}
		size := binary.LittleEndian.Uint64(b[16:])
		if size < 24 || size > math.MaxInt64/2 {
			return starts
		}
		at += int64(size)
	}
	return starts
}

// file reads a little at a time.
type file struct {
	io.ReaderAt
	size   int64
	window [4096]byte
	at     int64
	n      int
}

// bytes are n of them, or fewer at the end of the file, until the next call.
func (f *file) bytes(at int64, n int) []byte {
	n = int(max(min(int64(n), f.size-at), 0))
	if at < f.at || at+int64(n) > f.at+int64(f.n) {
		f.at = at
		f.n, _ = f.ReadAt(f.window[:], at)
	}
	return f.window[min(at-f.at, int64(f.n)):min(at-f.at+int64(n), int64(f.n))]
}
