package wav

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/headrace/headrace/media/sound"
)

func isAIFF(file []byte) bool {
	return len(file) >= 12 && string(file[:4]) == "FORM" && (string(file[8:12]) == "AIFF" || string(file[8:12]) == "AIFC")
}

// openAIFF finds the samples of AIFF and AIFF-C. Their chunks may have any order.
func openAIFF(file *sound.Content) (*File, error) {
	head, err := file.Bytes(0, 12)
	if err != nil {
		return nil, err
	}
	a := aiff{compresses: string(head[8:]) == "AIFC"}
	f := &File{content: file}
	chunks := chunks{Content: file, at: 12, order: binary.BigEndian}
	for n := 0; ; n++ {
		c, ok, err := chunks.next()
		if err == nil && n == mostChunks {
			err = fmt.Errorf("aiff: the file is damaged: it has more than %d chunks", mostChunks)
		}
		if err != nil {
			return nil, err
		}
		if !ok {
			break
		}
		if err := a.take(file, c); err != nil {
			return nil, err
		}
		if a.at > 0 && a.open { // its writer could not go back, so nothing follows
			break
		}
	}

	switch {
	case a.form == nil:
		return nil, fmt.Errorf("aiff: the file is damaged: it has no chunk COMM")
	case a.frames() > 0 && a.at == 0:
		return nil, fmt.Errorf("aiff: the file is damaged: it has no chunk SSND")
	}
	return f, a.describe(f)
}

// aiff is what the chunks of a file say.
type aiff struct {
	compresses   bool
	form         []byte // COMM
	at, size     int64  // of the samples; at is 0: there are none
	open         bool   // their size is not said
	layout, mask uint32
}

func (a *aiff) take(file *sound.Content, c chunk) error {
	most := int64(0)
	switch c.name {
	case "COMM":
		most = 22
	case "SSND", "CHAN":
		most = 8
	default:
		return nil
	}
	b, err := file.Bytes(c.at, int(min(c.has(), most)))
	if err != nil {
		return err
	}

	switch {
	case c.name == "COMM":
		if len(b) < 18 || a.compresses && len(b) < 22 {
			return fmt.Errorf("aiff: the file is damaged: its chunk COMM has %d bytes", len(b))
		}
		a.form = append([]byte(nil), b...)
	case c.name == "SSND" && a.at == 0:
		a.open = c.size == 0 || c.size > c.left && placeholds(c.size)
		if a.open {
			b, err = file.Bytes(c.at, 8)
		}
		if err != nil || len(b) < 8 {
			return err
		}
		skip := int64(binary.BigEndian.Uint32(b)) + 8
		if a.at, a.size = c.at+skip, c.size-skip; a.open {
			a.size = c.left - skip
		}
	case c.name == "CHAN" && len(b) == 8:
		a.layout, a.mask = binary.BigEndian.Uint32(b), binary.BigEndian.Uint32(b[4:])
	}
	return nil
}

// frames is how many samples there are, as the file says.
func (a *aiff) frames() int64 { return int64(binary.BigEndian.Uint32(a.form[2:])) }

func (a *aiff) describe(f *File) error {
	bits, how := int(binary.BigEndian.Uint16(a.form[6:])), "NONE"
	if a.compresses {
		how = string(a.form[18:22])
	}
	if f.coding, f.width = aiffCoding(how, (bits+7)/8); f.coding == nil {
		return codedAs("aiff", fmt.Sprintf("%q with %d bits", how, bits))
	}
	channels := int(binary.BigEndian.Uint16(a.form))
	if !f.speakers(a.layout, a.mask, channels) {
		return codedAs("aiff", fmt.Sprintf("in the layout %#x of channels", a.layout))
	}

	// The bytes tell how many samples there are, as readers have it, unless a writer has
	// counted the byte that pads the chunk.
	most := int64(math.MaxInt64)
	if n := a.frames(); !a.open && n > 0 && a.size == n*int64(f.width*channels)+1 {
		most = n
	}
	return f.finish("aiff", channels, extended(a.form[8:18]), a.at, a.size, most)
}

// aiffCoding returns how samples are decoded, and their bytes; nil if it is not known.
func aiffCoding(how string, width int) (coding, int) {
	switch how {
	case "NONE", "twos":
		return pcmOf(width, true), width
	case "sowt":
		return pcmOf(width, false), width
	case "raw ":
		if width == 1 {
			return pcm8, 1
		}
	case "in24":
		return pcm24Big, 3
	case "in32":
		return pcm32Big, 4
	case "42n1", "42ni":
		return pcm24, 3
	case "23ni":
		return pcm32, 4
	case "fl32", "FL32":
		return floatBig, 4
	case "fl64", "FL64":
		return doubleBig, 8
	case "ulaw", "ULAW":
		return muLaw, 1
	case "alaw", "ALAW":
		return aLaw, 1
	}
	return nil, 0
}

// extended is a number of 80 bits, which has no sign here.
func extended(b []byte) float64 {
	return math.Ldexp(float64(binary.BigEndian.Uint64(b[2:])), int(binary.BigEndian.Uint16(b))-16383-63)
}
