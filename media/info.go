package media

import "fmt"

// MaxPixels is the largest picture that is decoded or produced, in pixels. It is the size at which Pillow takes a picture for a
// decompression bomb and refuses it.
const MaxPixels = 178_956_970

// The names of formats in Info.Format, Register and DecoderFor.
const (
	JPEG = "jpeg"
	PNG  = "png"
	WebP = "webp"
	AVIF = "avif"
	GIF  = "gif"
	BMP  = "bmp"
	TIFF = "tiff"
)

// Info is what the header of a picture says.
type Info struct {
	Format        string // "jpeg", "png", …
	Width, Height int    // as stored, before Orientation
	Orientation   int    // EXIF's: 1 upright … 8; 1 where nothing is said
	Components    int    // channels as stored, alpha among them; 1 for palettes
	Bits          int    // of a channel as stored: 8 or 16 mostly; of a palette, of its index
	Alpha         bool   // some pixels may be transparent
	Palette       bool
	Progressive   bool // JPEG in several scans; PNG and GIF interlaced
	Arithmetic    bool // JPEG: arithmetic instead of Huffman coding
	Animated      bool // there are more frames than the first, which alone is decoded
}

// Oriented returns width and height as a viewer sees them, with the orientation applied.
func (i Info) Oriented() (width, height int) {
	if turnsSideways(i.Orientation) {
		return i.Height, i.Width
	}
	return i.Width, i.Height
}

// WorkingBytes is an upper estimate, for byte budgets, of the memory that decoding takes besides its result, whichever the decoder
// and whatever the plan: the decoded pixels and the same turned upright, and of a progressive picture all coefficients, which are held
// until the last scan is read. Most pictures take far less.
func (i Info) WorkingBytes() int64 {
	const bytesPerCoefficient = 4
	pixels := int64(i.Width+16) * int64(i.Height+16)
	n := pixels * 6
	if i.Progressive {
		n += pixels * int64(i.Components) * bytesPerCoefficient
	}
	return n + 1<<18
}

// String describes the picture for people.
func (i Info) String() string {
	s := fmt.Sprintf("%s %d×%d, %d components", i.Format, i.Width, i.Height, i.Components)
	if i.Progressive {
		s += ", progressive"
	}
	if i.Arithmetic {
		s += ", arithmetic coding"
	}
	if i.Orientation > 1 {
		s += fmt.Sprintf(", orientation %d", i.Orientation)
	}
	return s
}

func turnsSideways(orientation int) bool { return orientation >= 5 && orientation <= 8 }
