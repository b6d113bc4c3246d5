//go:build !cgo

package ffmpeg

import (
	"fmt"

	"headrace/media"
)

var errWithoutC = fmt.Errorf("%w: this program was built without C, and cannot open FFmpeg: take the wheel, or build with cgo (make build)", media.ErrUnsupported)

// Library returns an error: only programs with C can open FFmpeg.
func Library() (Info, error) { return Info{}, errWithoutC }

// Demux returns an error: only programs with C can open FFmpeg.
func Demux([]byte) (*File, error) { return nil, errWithoutC }

// Decoder is never there: only programs with C have one.
type Decoder struct{}

// NewDecoder returns an error: only programs with C can open FFmpeg.
func NewDecoder(Stream) (*Decoder, error) { return nil, errWithoutC }

// Feed returns an error.
func (*Decoder) Feed([]byte, []Packet, bool) error { return errWithoutC }

// Next returns an error.
func (*Decoder) Next(*Frame) error { return errWithoutC }

// Reset does nothing.
func (*Decoder) Reset() {}

// Close does nothing.
func (*Decoder) Close() {}
