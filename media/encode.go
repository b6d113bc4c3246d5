package media

import (
	"fmt"
	"path/filepath"
	"strings"
	"sync"

	"github.com/headrace/headrace/tensor"
)

// EncodeOptions say how pixels become a file. Format alone is needed; zero fields mean
// what Pillow does by default. An option that a format does not have is refused.
type EncodeOptions struct {
	Format string // JPEG, PNG or WebP
	// Quality of JPEG and lossy WebP, 1 to 100. The default is 75 for JPEG and 80 for
	// WebP.
	Quality int
	// Subsampling of JPEG's colours: "4:4:4", "4:2:2" or "4:2:0", which is the default.
	Subsampling string
	// Progressive makes a JPEG of several scans.
	Progressive bool
	// Lossless makes a WebP whose pixels are those that were given, also where they are
	// transparent.
	Lossless bool
	// Effort, of PNG and WebP, is 1 for the fastest to 9 for the smallest file. The
	// default is 6.
	Effort int
}

// Encode appends the image to dst, as a file of o.Format, and returns the extended
// memory; dst may be nil. JPEG takes Gray and RGB of 8 bits; WebP takes RGBA besides,
// and stores Gray as RGB; PNG takes all, and 16 bits too. After an error the result is
// nil.
func Encode(dst []byte, p Pixels, o EncodeOptions) ([]byte, error) {
	o, err := o.filled()
	if err != nil {
		return nil, err
	}
	if err := o.takes(p); err != nil {
		return nil, err
	}
	e, err := EncoderFor(o.Format)
	if err != nil {
		return nil, err
	}
	return e.AppendEncoded(dst, p, o)
}

// An Encoder makes files of one format.
type Encoder interface {
	// Name tells which implementation this is.
	Name() string
	// AppendEncoded appends the file to dst. [Encode] has checked that the format can
	// hold the pixels, and filled in the options. It keeps neither dst nor p.
	AppendEncoded(dst []byte, p Pixels, o EncodeOptions) ([]byte, error)
}

// RegisterEncoder makes e the encoder of a format, in place of what was registered
// before.
func RegisterEncoder(format string, e Encoder) {
	encoders.mu.Lock()
	defer encoders.mu.Unlock()
	encoders.byFormat[format] = e
}

// EncoderFor returns the encoder of a format, ErrUnsupported if there is none.
func EncoderFor(format string) (Encoder, error) {
	encoders.mu.RLock()
	defer encoders.mu.RUnlock()
	if e, ok := encoders.byFormat[format]; ok {
		return e, nil
	}
	if format == WebP {
		return nil, fmt.Errorf("%w: WebP is written by media/webp, which needs cgo and libwebp: PNG is lossless without", ErrUnsupported)
	}
	return nil, fmt.Errorf("%w: no encoder for %q: must be %s", ErrUnsupported, format, written)
}

var encoders = struct {
	mu       sync.RWMutex
	byFormat map[string]Encoder
}{byFormat: map[string]Encoder{JPEG: goJPEGEncoder{}, PNG: pngEncoder{}}}

const written = `"jpeg", "png" or "webp"`

// FormatForName returns the format that a file of this name is expected to have, for
// EncodeOptions.Format. Decoding never goes by names.
func FormatForName(name string) (string, error) {
	suffix := strings.ToLower(filepath.Ext(name))
	switch suffix {
	case ".jpg", ".jpeg", ".jpe", ".jfif":
		return JPEG, nil
	case ".png":
		return PNG, nil
	case ".webp":
		return WebP, nil
	}
	return "", fmt.Errorf("%w: writing %q: the suffix must be .jpg, .png or .webp", ErrUnsupported, name)
}

// abilities are what a format can hold and which options it has.
type abilities struct {
	name                                       string
	side                                       int // the longest
	alpha, deep                                bool
	quality                                    int // default; 0: there is none
	subsampling, progressive, lossless, effort bool
}

var abilitiesOf = map[string]abilities{
	// Of 65,535 that the format has, libjpeg takes less.
	JPEG: {name: "JPEG", side: 65_500, quality: 75, subsampling: true, progressive: true},
	PNG:  {name: "PNG", side: 1<<31 - 1, alpha: true, deep: true, effort: true},
	WebP: {name: "WebP", side: 16_383, alpha: true, quality: 80, lossless: true, effort: true},
}

// filled returns the options with their defaults, or what is wrong with them.
func (o EncodeOptions) filled() (EncodeOptions, error) {
	a, ok := abilitiesOf[o.Format]
	refuse := func(format string, args ...any) (EncodeOptions, error) {
		return o, fmt.Errorf("%w: encoding: "+format, append([]any{ErrUnsupported}, args...)...)
	}

	switch {
	case !ok:
		return refuse("format %q: must be %s", o.Format, written)
	case o.Quality != 0 && a.quality == 0:
		return refuse("%s is lossless: it has no quality", a.name)
	case o.Quality != 0 && o.Lossless:
		return refuse("quality %d of a lossless %s", o.Quality, a.name)
	case o.Quality < 0 || o.Quality > 100:
		return refuse("quality %d: must be from 1 to 100", o.Quality)
	case o.Subsampling != "" && !a.subsampling:
		return refuse("%s has no choice of subsampling", a.name)
	case o.Subsampling != "" && o.Subsampling != "4:4:4" && o.Subsampling != "4:2:2" && o.Subsampling != "4:2:0":
		return refuse(`subsampling %q: must be "4:4:4", "4:2:2" or "4:2:0"`, o.Subsampling)
	case o.Progressive && !a.progressive:
		return refuse("%s has no progressive form here", a.name)
	case o.Lossless && !a.lossless && a.quality != 0:
		return refuse("%s cannot be lossless: use PNG or WebP", a.name)
	case o.Effort != 0 && !a.effort:
		return refuse("%s has no effort", a.name)
	case o.Effort < 0 || o.Effort > 9:
		return refuse("effort %d: must be from 1 to 9", o.Effort)
	}

	if o.Quality == 0 {
		o.Quality = a.quality
	}
	if o.Effort == 0 {
		o.Effort = 6
	}
	if o.Subsampling == "" {
		o.Subsampling = "4:2:0"
	}
	return o, nil
}

// takes returns why the format cannot hold the pixels, with what helps.
func (o EncodeOptions) takes(p Pixels) error {
	a := abilitiesOf[o.Format]
	if p.DType != tensor.Uint8 && p.DType != tensor.Uint16 {
		return fmt.Errorf("%w: encoding %v as %s: must be uint8%s", ErrUnsupported, p.DType, a.name, a.orDeep())
	}
	if err := p.Check(); err != nil {
		return err
	}
	switch {
	case p.DType == tensor.Uint16 && !a.deep:
		return fmt.Errorf("%w: encoding uint16 as %s, which has 8 bits: use PNG, or decode to uint8", ErrUnsupported, a.name)
	case p.Color == RGBA && !a.alpha:
		return fmt.Errorf("%w: encoding rgba as %s, which has no alpha channel: use PNG or WebP, or decode to rgb with a background",
			ErrUnsupported, a.name)
	case p.Width > a.side || p.Height > a.side:
		return fmt.Errorf("%w: %d×%d pixels: %s has at most %d on a side", ErrTooLarge, p.Width, p.Height, a.name, a.side)
	case p.Width > MaxPixels/p.Height:
		return fmt.Errorf("%w: %d×%d pixels, more than the %d that can be read again", ErrTooLarge, p.Width, p.Height, MaxPixels)
	}
	return nil
}

func (a abilities) orDeep() string {
	if a.deep {
		return " or uint16"
	}
	return ""
}
