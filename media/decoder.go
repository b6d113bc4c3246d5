package media

import (
	"fmt"
	"sync"
)

// A Decoder turns the data of one format into RGB pixels of 8 bits.
type Decoder interface {
	// Name tells which implementation this is; it is recorded in statistics and state, since pixels depend on it.
	Name() string
	// DecodeInto decodes src, of which Probe returned info, and writes the result of plan: plan.Height rows of plan.Width pixels of
	// three bytes, stride bytes from row to row. Bytes of dst between the rows are left alone; after an error the rows hold
	// anything. It keeps neither dst nor src.
	DecodeInto(dst []byte, stride int, src []byte, info *Info, plan *Plan) error
}

// Register makes d the decoder of a format, in place of what was registered before.
func Register(format string, d Decoder) {
	decoders.mu.Lock()
	defer decoders.mu.Unlock()
	decoders.byFormat[format] = d
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

var decoders = struct {
	mu       sync.RWMutex
	byFormat map[string]Decoder
}{byFormat: map[string]Decoder{JPEG: GoJPEG{}}}

// CheckTarget returns an error unless dst can hold the result of plan at this stride. Decoders call it first.
func CheckTarget(dst []byte, stride int, plan *Plan) error {
	if len(plan.Stages) == 0 || plan.Width <= 0 || plan.Height <= 0 {
		return fmt.Errorf("%w: empty plan", ErrGeometry)
	}
	row := plan.Width * 3
	if stride < row || (len(dst)-row)/stride < plan.Height-1 || len(dst) < row {
		return fmt.Errorf("%w: %d×%d pixels do not fit into %d bytes with rows %d bytes apart",
			ErrGeometry, plan.Width, plan.Height, len(dst), stride)
	}
	return nil
}
