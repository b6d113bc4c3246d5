package whole

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/media/av/heads"
	"github.com/headrace/headrace/media/av/mpa"
	"github.com/headrace/headrace/media/sound"
	"github.com/headrace/headrace/media/sound/flac"
)

// follow goes from frame to frame, whose size is what each says of the bytes there: 0 if
// that is no frame, -1 if there are too few of them to tell.
func (f *file) follow(at int64, head int, frame string, each func(b []byte) int64) (End, error) {
	for at < f.Len {
		b := f.Bytes(at, head)
		if len(b) == 0 { // it was made shorter meanwhile
			return Unknown, f.cutHead(frame)
		}
		n := each(b)
		switch {
		case n == 0:
			return Unknown, nil // what is behind the frames
		case n < 0:
			return Open, f.cutHead(frame)
		case at+n > f.Len:
			return Open, f.cut(frame, at+n)
		}
		at += n
	}
	return Open, nil
}

// amr: frames have the size of their mode (RFC 4867, 5.3).
func amr(f *file) (End, error) {
	sizes, at := [16]int64{13, 14, 16, 18, 20, 21, 27, 32, 6, 0, 0, 0, 0, 0, 0, 1}, int64(6)
	if b := f.Bytes(0, 9); bytes.HasPrefix(b, []byte("#!AMR-WB\n")) {
		sizes, at = [16]int64{18, 24, 33, 37, 41, 47, 51, 59, 61, 6, 0, 0, 0, 0, 1, 1}, 9
	} else if !bytes.HasPrefix(b, []byte("#!AMR\n")) {
		return Unknown, nil
	}
	return f.follow(at, 1, "a frame", func(b []byte) int64 { return sizes[b[0]>>3&15] })
}

// ivf: frames are behind their sizes. The head says how many there are, but not before
// the file is complete.
func ivf(f *file) (End, error) {
	b := f.Bytes(0, 32)
	if len(b) < 32 {
		return Unknown, f.cutHead("the file")
	}
	return f.follow(int64(binary.LittleEndian.Uint16(b[6:])), 12, "a frame", func(b []byte) int64 {
		if len(b) < 12 {
			return -1
		}
		return 12 + int64(binary.LittleEndian.Uint32(b))
	})
}

// wavpack: blocks say how many samples the file has, and which are theirs.
func wavpack(f *file) (End, error) {
	total, have := int64(-1), int64(0)

	end, err := f.follow(0, 32, "a block", func(b []byte) int64 {
		if !bytes.HasPrefix(b, []byte("wvpk")) {
			return 0
		}
		if len(b) < 32 {
			return -1
		}
		if have == 0 && binary.LittleEndian.Uint32(b[12:]) != math.MaxUint32 {
			total = int64(binary.LittleEndian.Uint32(b[12:])) + int64(b[11])<<32
		}
		have = int64(binary.LittleEndian.Uint32(b[16:])) + int64(b[10])<<32 + int64(binary.LittleEndian.Uint32(b[20:]))
		return 8 + int64(binary.LittleEndian.Uint32(b[4:]))
	})
	if err == nil && total > have {
		err = f.cutHead("a block")
	}
	if total >= 0 {
		end = Stated
	}
	return end, err
}

// adts is AAC frame by frame.
func adts(f *file) (End, error) {
	at := f.behindID3()
	var first mpa.Header
	return f.follow(at, mpa.Need, "a frame", func(b []byte) int64 {
		if len(b) < mpa.Need {
			if b[0] == 0xFF && first.Size > 0 {
				return -1
			}
			return 0
		}
		h, ok := mpa.Parse(b)
		if !ok || h.Codec != "aac" {
			return 0
		}
		first = h
		return int64(h.Size)
	})
}

// behindID3 is where a file begins after its tags.
func (f *file) behindID3() (at int64) {
	for {
		b := f.Bytes(at, 10)
		if len(b) < 10 || string(b[:3]) != "ID3" {
			return at
		}
		at += 10 + int64(b[6]&127)<<21 + int64(b[7]&127)<<14 + int64(b[8]&127)<<7 + int64(b[9]&127)
		if b[5]&0x10 != 0 {
			at += 10
		}
	}
}

// ac3 is AC-3 and its successor, frame by frame.
func ac3(f *file) (End, error) {
	return f.follow(0, 6, "a frame", heads.AC3)
}

// dv: frames have one of a few sizes.
func dv(f *file) (End, error) {
	b := f.Bytes(0, 4)
	if len(b) < 4 || b[0] != 0x1F || b[1] != 0x07 {
		return Unknown, nil
	}
	each := int64(120000)
	if b[3]&0x80 != 0 {
		each = 144000
	}
	if rest := f.Len % each; rest != 0 {
		return Open, f.cut("a frame", f.Len-rest+each)
	}
	return Open, nil
}

// mxf: keys, lengths and values follow each other (SMPTE 377).
func mxf(f *file) (End, error) {
	end := Open
	// The first partition says where the last is, once that is written.
	if b := f.Bytes(0, 17+9+32); len(b) == 17+9+32 && b[13] == 2 && b[16]&0x80 != 0 {
		footer := binary.BigEndian.Uint64(b[17+int(b[16]&7)+24:])
		if footer < math.MaxInt64/2 && int64(footer) >= f.Len {
			return Stated, f.cut("what is before its footer", int64(footer))
		}
	}
	_, err := f.follow(0, 16+9, "a value", func(b []byte) int64 {
		if len(b) < 4 || !bytes.HasPrefix(b, []byte{6, 0x0E, 0x2B, 0x34}) {
			return 0
		}
		if len(b) < 17 {
			return -1
		}
		if end = Open; b[13] == 0x11 || b[13] == 4 { // the random index pack, the footer
			end = Stated
		}
		if b[16] < 0x80 {
			return 17 + int64(b[16])
		}
		n, size := int(b[16]&0x7F), int64(0)
		if n > 8 {
			return 0
		}
		if len(b) < 17+n {
			return -1
		}
		for _, c := range b[17 : 17+n] {
			size = size<<8 | int64(c)
		}
		if size < 0 || size > math.MaxInt64/2 {
			return 0
		}
		return 17 + int64(n) + size
	})
	return end, err
}

// obu is AV1 whose units say how long they are.
func obu(f *file) (End, error) {
	if b := f.Bytes(0, 2); len(b) < 2 || b[0] != 0x12 || b[1] != 0 { // a delimiter comes first
		return Unknown, nil
	}
	return f.follow(0, 10, "a unit", func(b []byte) int64 {
		if b[0]&0x82 != 2 { // no size
			return 0
		}
		at := 1
		if b[0]&4 != 0 {
			at = 2
		}
		size := int64(0)
		for i := range 8 {
			if at+i >= len(b) {
				return -1
			}
			size |= int64(b[at+i]&0x7F) << (7 * i)
			if b[at+i]&0x80 == 0 {
				return int64(at+i+1) + size
			}
		}
		return 0
	})
}

// mp3 is MPEG audio frame by frame. The first may say how many follow.
func mp3(f *file) (End, error) {
	at, frames, declared := f.behindID3(), 0, 0
	var first mpa.Header
	for ; ; at++ { // to the first frame
		h, ok := mpa.Parse(f.Bytes(at, mpa.Need))
		if ok && h.Codec != "aac" && (at+int64(h.Size) >= f.Len || f.frameAt(at+int64(h.Size))) {
			first = h
			break
		}
		if at >= f.Len || at > 1<<16 {
			return Unknown, nil
		}
	}

	declared = mpa.Declared(f.Bytes(at, first.Size), first)
	if declared >= 0 {
		frames = -1 // it has no sound
	}
	all := func() bool { return declared > 0 && frames >= declared }
	end, err := f.follow(at, mpa.Need, "a frame", func(b []byte) int64 {
		if len(b) < mpa.Need && b[0] == 0xFF && !all() {
			return -1
		}
		h, ok := mpa.Parse(b)
		if !ok || h.Codec != first.Codec {
			return 0
		}
		if all() { // what follows is not part of it
			return min(int64(h.Size), 1)
		}
		frames++
		return int64(h.Size)
	})
	if err == nil && end == Open && declared > frames+1 { // some count the frame of the tag, too
		err = fmt.Errorf("%w: the file ends after %d of %d frames", media.ErrTruncated, frames, declared)
	}
	return end, err
}

func (f *file) frameAt(at int64) bool {
	b := f.Bytes(at, mpa.Need)
	h, ok := mpa.Parse(b)
	return ok && h.Codec != "aac" || len(b) < mpa.Need || string(b[:3]) == "TAG"
}

// flacFrames: a file that says how many samples it has ends with the frame of the last.
func flacFrames(f *file) (End, error) {
	if !flac.Is(f.Bytes(0, sound.LeastHead)) {
		return Unknown, nil
	}
	if _, err := flac.Open(sound.OnDisk(f, flac.Together)); err != nil {
		return Stated, fmt.Errorf("%w: %w", media.ErrTruncated, err)
	}
	return Stated, nil
}

// ReadAt implements [sound.File].
func (f *file) ReadAt(p []byte, at int64) (int, error) { return f.From.ReadAt(p, at) }

// Size implements [sound.File].
func (f *file) Size() int64 { return f.Len }

// gif follows the blocks of a GIF to its trailer.
func gif(f *file) (End, error) {
	b := f.Bytes(0, 13)
	if len(b) < 13 {
		return Unknown, f.cutHead("the file")
	}
	colors := func(flags byte) int64 {
		if flags&0x80 == 0 {
			return 0
		}
		return 3 << (flags&7 + 1)
	}

	at := 13 + colors(b[10])
	for at < f.Len {
		b := f.Bytes(at, 10)
		if len(b) == 0 {
			break
		}
		switch b[0] {
		case 0x3B:
			return Stated, nil
		case 0x21:
			at += 2
		case 0x2C:
			if len(b) < 10 {
				return Open, f.cutHead("an image")
			}
			at += 11 + colors(b[9])
		default:
			return Unknown, nil
		}
		for n := byte(1); n != 0; {
			b := f.Bytes(at, 1)
			if len(b) == 0 {
				return Open, f.cutHead("a block")
			}
			n = b[0]
			at += 1 + int64(n)
		}
	}
	if at > f.Len {
		return Open, f.cut("a block", at)
	}
	return Open, nil
}

// y4m: frames are as large as the first line says.
func y4m(f *file) (End, error) {
	line := func(at int64) (words []string, next int64) {
		b := f.Bytes(at, 256)
		i := bytes.IndexByte(b, '\n')
		if i < 0 {
			return nil, 0
		}
		return strings.Fields(string(b[:i])), at + int64(i) + 1
	}
	words, at := line(0)
	var width, height int64
	form := "420"
	for _, w := range words {
		switch w[0] {
		case 'W':
			width, _ = strconv.ParseInt(w[1:], 10, 32)
		case 'H':
			height, _ = strconv.ParseInt(w[1:], 10, 32)
		case 'C':
			form = w[1:]
		}
	}

	half := (width + 1) / 2
	size, ok := map[string]int64{
		"420": width*height + 2*half*((height+1)/2), "422": width*height + 2*half*height, "444": 3 * width * height,
		"mon": width * height, "411": width*height + 2*((width+3)/4)*height,
	}[form[:min(3, len(form))]]
	i := strings.LastIndexByte(form, 'p')
	deep := i > 0 && i+2 <= len(form) && form[i+1] >= '1' && form[i+1] <= '9' // 420p10
	deepGray := strings.HasPrefix(form, "mono") && len(form) > 4              // mono16
	if deep || deepGray {
		size *= 2
	}
	if !ok || form == "444alpha" || size <= 0 {
		return Unknown, nil
	}
	return f.follow(at, 256, "a frame", func(b []byte) int64 {
		if !bytes.HasPrefix(b, []byte("FRAME")[:min(5, len(b))]) {
			return 0
		}
		i := bytes.IndexByte(b, '\n')
		if i < 0 {
			return -1
		}
		return int64(i) + 1 + size
	})
}
