package flac

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/media/sound"
)

// File is a FLAC file.
type File struct {
	Rate, Channels, Bits int
	Samples              int64  // of each channel
	Config               []byte // the block STREAMINFO, for decoders

	block      int // samples of every frame but the last
	most       int // bytes that a frame may have
	content    *sound.Content
	begin, end int64 // of all frames
}

// Together is how much of a file is worth reading at once: some frames.
const Together = 64 << 10

// infoAt is where the first block begins, after its mark.
const infoAt = 8

// ConfigSize is how many bytes the block STREAMINFO has.
const ConfigSize = 34

// Is tells of the first [sound.LeastHead] bytes of a file whether it is one whose frames
// can be found: it says how many samples it has, and all frames have as many as the
// first.
func Is(head []byte) bool {
	f := new(File)
	return f.describe(head)
}

// describe reads the block STREAMINFO (RFC 9639, 8.2).
func (f *File) describe(head []byte) bool {
	if len(head) < infoAt+ConfigSize || string(head[:4]) != "fLaC" || head[4]&0x7F != 0 || [3]byte(head[5:8]) != [3]byte{0, 0, ConfigSize} {
		return false
	}
	info := head[infoAt:][:ConfigSize]
	least, most := int(binary.BigEndian.Uint16(info)), int(binary.BigEndian.Uint16(info[2:]))
	packed := binary.BigEndian.Uint64(info[10:])
	f.Rate, f.Channels, f.Bits = int(packed>>44), int(packed>>41&7)+1, int(packed>>36&31)+1
	f.Samples = int64(packed & (1<<36 - 1))
	f.block = most

	// As it is, without compression, and with the difference of two channels, which has a
	// bit more. Frames are larger only where an encoder wants that.
	f.most = 32 + f.Channels*(8+(f.Bits+1)*f.block/8)
	fixed := least == most && most >= 16 // samples of a frame, as its number is counted in frames
	return fixed && f.Rate > 0 && f.Bits >= 4 && f.Samples > 0
}

var errFLAC = fmt.Errorf("flac: %w", media.ErrCorrupt)

// mostBlocks is how many blocks of tags, pictures and the like are looked at.
const mostBlocks = 4096

// Open looks at what is before the first frame, and whether the last one is there.
func Open(content *sound.Content) (*File, error) {
	f, err := begin(content)
	if err != nil {
		return nil, err
	}
	last, err := f.Find(f.Samples - 1)
	if errors.Is(err, media.ErrCorrupt) && !errors.Is(err, errJoined) {
		err = fmt.Errorf("%w: it ends before its %d samples do, or its last frame is damaged: %s", errFLAC, f.Samples, sound.Remedy)
	}
	if err != nil {
		return nil, err
	}
	return f, f.alone(last)
}

// OpenKept is Open that opens a file whose end is missing, too: it is short, and has the
// samples up to the last frame that is whole.
func OpenKept(content *sound.Content) (f *File, short bool, err error) {
	f, err = Open(content)
	if !errors.Is(err, media.ErrCorrupt) || errors.Is(err, errJoined) {
		return f, false, err
	}
	if f, err = begin(content); err != nil {
		return nil, false, err
	}
	last, err := f.lastWhole()
	if err != nil {
		return nil, false, err
	}
	if last.Samples == 0 {
		return nil, false, fmt.Errorf("%w: none of its frames is whole", errFLAC)
	}
	ok, err := f.ascends(last)
	if err == nil && (!ok || last.Sample+int64(last.Samples) > f.Samples) {
		err = errJoined
	}
	if err != nil {
		return nil, false, err
	}
	f.Samples = last.Sample + int64(last.Samples)
	return f, true, f.alone(last)
}

// ascends reports whether frames up to the last have ascending numbers, as far as one
// looks: those of files that were joined begin again.
func (f *File) ascends(last Frame) (bool, error) {
	const places = 16
	before := int64(0)
	for i := range int64(places) {
		fr, ok, err := f.from(f.begin+(last.Offset-f.begin)*i/places, last.Offset+1)
		if err != nil {
			return false, err
		}
		if ok && fr.Sample < before {
			return false, nil
		}
		if ok {
			before = fr.Sample
		}
	}
	return before <= last.Sample, nil
}

// alone returns an error if another file follows after the last frame, which then is
// taken for a part of it.
func (f *File) alone(last Frame) error {
	b, err := f.Bytes(last)
	if err == nil && (bytes.Contains(b, []byte("fLaC\x00\x00\x00\x22")) || bytes.Contains(b, []byte("fLaC\x80\x00\x00\x22"))) {
		err = errJoined
	}
	return err
}

// lastWhole is the last frame that is, of a file that is cut off; if it has no samples,
// there is none.
func (f *File) lastWhole() (last Frame, err error) {
	for back := 4 * int64(f.most); ; back *= 4 {
		place := max(f.begin, f.end-back)
		for at := place; at < f.end; {
			fr, ok, err := f.from(at, f.end)
			if err != nil {
				return fr, err
			}
			if !ok { // damage may reach further than one look
				at += 4*int64(f.most) + Together
				continue
			}
			last, at = fr, fr.Offset+fr.Size
		}
		if last.Samples > 0 || place == f.begin {
			return last, nil
		}
	}
}

// Block is how many samples every frame has, but the last.
func (f *File) Block() int { return f.block }

// begin looks at what is before the first frame.
func begin(content *sound.Content) (*File, error) {
	head, err := content.Bytes(0, infoAt+ConfigSize)
	if err != nil {
		return nil, err
	}
	f := &File{content: content, begin: 4, end: content.Size()}
	if !f.describe(head) {
		return nil, errors.New("flac: the file does not say how many samples it has, or frames differ")
	}
	f.Config = append(f.Config, head[infoAt:]...)

	for last, n := false, 0; !last; n++ {
		b, err := content.Bytes(f.begin, 4)
		if err != nil {
			return nil, err
		}
		if len(b) < 4 || n == mostBlocks {
			return nil, fmt.Errorf("%w: it ends before its first frame", errFLAC)
		}
		last = b[0]&0x80 != 0
		f.begin += 4 + int64(binary.BigEndian.Uint32(b)&0xFFFFFF)
	}
	if b, err := content.Bytes(max(0, f.end-tagSize), 3); err != nil {
		return nil, err
	} else if f.end-tagSize > f.begin && string(b) == "TAG" {
		f.end -= tagSize
	}
	return f, nil
}

// errJoined marks a file whose frames are counted from 0 again.
var errJoined = fmt.Errorf("%w: several FLAC files were joined, byte after byte: join them with a program that writes FLAC", errFLAC)

// IsJoined reports whether an error of [Open] says that several files were joined.
func IsJoined(err error) bool { return errors.Is(err, errJoined) }

// tagSize is that of ID3v1, which some programs append to everything.
const tagSize = 128

// InMemory tells whether all of the file is in memory, and none is read.
func (f *File) InMemory() bool { return f.content.File() == nil }
