package media

import "fmt"

// MaxPixels is the largest image that is decoded or produced, in pixels. It is the
// size at which Pillow takes an image for a decompression bomb and refuses it.
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

// Info is what the header of an image says.
type Info struct {
	Format        string // "jpeg", "png", …
	Width, Height int    // as stored, before Orientation
	Orientation   int    // EXIF's: 1 upright … 8; 1 where nothing is said
	Aspect        [2]int // of a stored pixel, width to height; 0: it is square
	Components    int    // channels as stored, alpha among them; 1 for palettes
	Bits          int    // of a channel as stored: 8 or 16 mostly; of a palette, of its index
	Alpha         bool   // some pixels may be transparent
	Palette       bool
	Progressive   bool // JPEG: each scan adds precision; PNG and GIF: interlaced
	Scans         bool // JPEG: there is more than one scan
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

// String describes the image for people.
func (i Info) String() string {
	s := fmt.Sprintf("%s %d×%d, %d components", i.Format, i.Width, i.Height, i.Components)
	if i.Progressive {
		s += ", progressive"
	}
	if i.Arithmetic {
		s += ", arithmetic coding"
	}
	if i.Bits != 8 && i.Bits != 0 {
		s += fmt.Sprintf(", %d bits", i.Bits)
	}
	if i.Palette {
		s += ", palette"
	}
	if i.Alpha {
		s += ", alpha"
	}
	if i.Animated {
		s += ", several frames"
	}
	if i.Orientation > 1 {
		s += fmt.Sprintf(", orientation %d", i.Orientation)
	}
	return s
}

func turnsSideways(orientation int) bool { return orientation >= 5 && orientation <= 8 }

// checkSize refuses what has no pixels, and what has too many.
func checkSize(title string, width, height int) error {
	if width <= 0 || height <= 0 {
		return fmt.Errorf("%w: %s of %d×%d pixels", ErrCorrupt, title, width, height)
	}
	return checkPixels(width, height, 0)
}

// checkPixels refuses an image of more pixels than most; 0 means MaxPixels.
func checkPixels(width, height, most int) error {
	switch {
	case most > 0 && width > most/height:
		return fmt.Errorf("%w: %d×%d pixels; the limit is %d, raise it with max_pixels", ErrTooLarge, width, height, most)
	case width > MaxPixels/height:
		return fmt.Errorf("%w: %d×%d pixels; no image may have more than %d", ErrTooLarge, width, height, MaxPixels)
	}
	return nil
}

// cutHeader is the error of a header that ends too early.
func cutHeader(title string) error {
	return fmt.Errorf("%w: %s ends within its header", ErrTruncated, title)
}
