package media

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"sync"
)

// A Decoder turns the data of one format into pixels of the form that a plan asks for.
type Decoder interface {
	// Name tells which implementation this is, and after a plus which other one made the
	// same pixels, if one did: see [SamePixels]. It is recorded in statistics and state,
	// since pixels depend on it.
	Name() string
	// DecodeInto decodes src, of which Probe returned info, and writes the result of
	// plan in the form plan.Form(): rows that are stride bytes apart; planes, in CHW,
	// follow each other, each plan.Height rows long. Bytes of dst between the rows are
	// left alone; after an error the rows hold anything. It keeps neither dst nor src.
	DecodeInto(dst []byte, stride int, src []byte, info *Info, plan *Plan) error
}

// Register makes d the decoder of a format, in place of what was registered before.
func Register(format string, d Decoder) {
	decoders.mu.Lock()
	defer decoders.mu.Unlock()
	decoders.byFormat[format] = d
}

// Offer makes d the decoder of a format that has none yet; Register, before or after,
// takes precedence. Packages in plain Go call it.
func Offer(format string, d Decoder) {
	decoders.mu.Lock()
	defer decoders.mu.Unlock()
	if decoders.byFormat[format] == nil {
		decoders.byFormat[format] = d
	}
}

// DecoderFor returns the decoder of a format, ErrUnsupported if there is none.
func DecoderFor(format string) (Decoder, error) {
	decoders.mu.RLock()
	defer decoders.mu.RUnlock()
	if d, ok := decoders.byFormat[format]; ok {
		return d, nil
	}
	return nil, fmt.Errorf("%w: no decoder for %q", ErrUnsupported, format)
}

// Formats are those that have a decoder, in the order of their names.
func Formats() []string {
	decoders.mu.RLock()
	defer decoders.mu.RUnlock()
	return slices.Sorted(maps.Keys(decoders.byFormat))
}

var decoders = struct {
	mu       sync.RWMutex
	byFormat map[string]Decoder
}{byFormat: map[string]Decoder{JPEG: GoJPEG{}}}

// CheckTarget returns an error unless dst can hold the result of plan at this stride.
// Decoders call it first.
func CheckTarget(dst []byte, stride int, plan *Plan) error {
	if len(plan.Stages) == 0 || plan.Width <= 0 || plan.Height <= 0 {
		return fmt.Errorf("%w: empty plan", ErrGeometry)
	}
	if err := plan.checkPasses(); err != nil {
		return err
	}
	f, rows := plan.Form(), plan.Height
	if f.Layout == CHW {
		rows *= f.Color.Channels()
	}
	return fits(dst, stride, f.RowBytes(), rows)
}

// SamePixels reports whether decoders of these names, or lists of them, make the same
// pixels: what follows a plus in a name makes no other ones.
func SamePixels(a, b string) bool {
	return plus.ReplaceAllString(a, "") == plus.ReplaceAllString(b, "")
}

var plus = regexp.MustCompile(`\+\S*`)
