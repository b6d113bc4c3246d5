package wav

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"github.com/headrace/headrace/media/sound"
)

func isCAF(file []byte) bool { return len(file) >= 8 && string(file[:4]) == "caff" }

const cafForm = 32 // bytes of the chunk desc

// openCAF finds the samples of Apple's CAF.
func openCAF(file *sound.Content) (*File, error) {
	c := caf{at: -1}
	for at, n := int64(8), 0; at < file.Size() && c.at < 0; n++ {
		if n == mostChunks {
			return nil, fmt.Errorf("caf: the file is damaged: it has more than %d chunks", mostChunks)
		}
		b, err := file.Bytes(at, 12+cafForm)
		if err != nil {
			return nil, err
		}
		if len(b) < 12 {
			break
		}
		size := int64(binary.BigEndian.Uint64(b[4:]))
		at += 12
		c.take(string(b[:4]), b[12:], at, size)
		if size < 0 || size > file.Size()-at {
			break
		}
		at += size
	}

	switch {
	case c.form == nil:
		return nil, errors.New("caf: the file is damaged: it has no chunk desc before its samples")
	case c.at < 0:
		return nil, errors.New("caf: the file is damaged: it has no chunk data")
	}
	f := &File{content: file}
	return f, c.describe(f)
}

// caf is what the chunks of a file say.
type caf struct {
	form         []byte
	at, size     int64 // of the samples; at is -1: there are none
	layout, mask uint32
}

func (c *caf) take(name string, b []byte, at, size int64) {
	switch {
	case name == "desc" && len(b) >= cafForm:
		c.form = append([]byte(nil), b[:cafForm]...)
	case name == "chan" && len(b) >= 8:
		c.layout, c.mask = binary.BigEndian.Uint32(b), binary.BigEndian.Uint32(b[4:])
	case name == "data": // which begins with the number of edits
		c.at, c.size = at+4, size-4
		if size < 0 { // all until the end
			c.size = math.MaxInt64 - c.at
		}
	}
}

func (c *caf) describe(f *File) error {
	number := func(at int) int { return int(min(binary.BigEndian.Uint32(c.form[at:]), math.MaxInt32)) }
	how, flags, frame, together, channels, bits := string(c.form[8:12]), number(12), number(16), number(20), number(24), number(28)
	if channels > 0 {
		f.width = frame / channels
	}

	const isFloat, isLittle = 1, 2
	switch big := flags&isLittle == 0; {
	case how == "lpcm" && flags&isFloat != 0:
		f.coding = codingOf(codeFloat, f.width, big)
	case how == "lpcm":
		f.coding = pcmOf(f.width, big)
	case how == "ulaw":
		f.coding, bits = muLaw, 8
	case how == "alaw":
		f.coding, bits = aLaw, 8
	}
	if f.coding == nil || together != 1 || frame != f.width*channels || bits != 8*f.width {
		return codedAs("caf", fmt.Sprintf("%q with %d bits, %d of them in %d bytes", how, bits, together*channels, frame))
	}
	if !f.speakers(c.layout, c.mask, channels) {
		return codedAs("caf", fmt.Sprintf("in the layout %#x of channels", c.layout))
	}
	return f.finish("caf", channels, math.Float64frombits(binary.BigEndian.Uint64(c.form)), c.at, c.size, math.MaxInt64)
}
