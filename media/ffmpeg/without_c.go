//go:build !cgo

package ffmpeg

import (
	"fmt"
	"os"

	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/media/av"
	"github.com/headrace/headrace/media/av/packets"
	"github.com/headrace/headrace/media/video"
)

var errWithoutC = fmt.Errorf("%w: this program was built without C, and cannot open FFmpeg: "+
	"use the wheel, or build with cgo (make build)", media.ErrUnsupported)

// Library returns an error: only programs with C can open FFmpeg.
func Library() (Info, error) { return Info{}, errWithoutC }

// Demux returns an error: only programs with C can open FFmpeg.
func Demux([]byte) (*File, error) { return nil, errWithoutC }

// DemuxFile returns an error: only programs with C can open FFmpeg.
func DemuxFile(video.OpenFile) (*File, error) { return nil, errWithoutC }

// OpensNoFiles returns an error: only programs with C can open FFmpeg.
func OpensNoFiles(OptionsOf, string, string) error { return errWithoutC }

// handle is what Go's types of FFmpeg's have in common.
type handle struct{}

// Close does nothing.
func (handle) Close() {}

// Decoder is never there: only programs with C have one.
type Decoder struct{ handle }

// NewDecoder returns an error: only programs with C can open FFmpeg.
func NewDecoder(Stream) (*Decoder, error) { return nil, errWithoutC }

// Feed returns an error.
func (*Decoder) Feed([]byte, []Packet, bool) error { return errWithoutC }

// Next returns an error.
func (*Decoder) Next(*Frame) error { return errWithoutC }

// Reset does nothing.
func (*Decoder) Reset() {}

// Floats does nothing.
func (*Sound) Floats([]float32) {}

// Reader is never there.
type Reader struct {
	handle
	Format   string
	Streams  []packets.Stream
	Restarts int
}

// NewReader returns an error: only programs with C can open FFmpeg.
func NewReader(*os.File) (*Reader, error) { return nil, errWithoutC }

// Read returns an error.
func (*Reader) Read(*packets.Packet) error { return errWithoutC }

// Only does nothing.
func (*Reader) Only([]int) {}

// Joined reports false.
func (*Reader) Joined() bool { return false }

// Guesses is never called.
func (*Reader) Guesses(int) bool { return false }

// Keep does nothing.
func (*Reader) Keep() {}

// Light does nothing.
func (*Reader) Light() {}

// Seek returns an error.
func (*Reader) Seek(int, int64) error { return errWithoutC }

// Bitstream is never there.
type Bitstream struct {
	handle
	Out packets.Stream
}

// NewBitstream returns an error: only programs with C can open FFmpeg.
func NewBitstream(string, *packets.Stream) (*Bitstream, error) { return nil, errWithoutC }

// Push returns an error.
func (*Bitstream) Push(*packets.Packet) error { return errWithoutC }

// Pull returns an error.
func (*Bitstream) Pull(*packets.Packet) error { return errWithoutC }

// Graph is never there.
type Graph struct {
	handle
	Outputs []Port
}

// NewGraph returns an error: only programs with C can open FFmpeg.
func NewGraph(string, []Port, string, string) (*Graph, error) { return nil, errWithoutC }

// Pieces does nothing.
func (*Graph) Pieces(int, int) {}

// Push returns an error.
func (*Graph) Push(int, *Port, []byte, int, int64) error { return errWithoutC }

// Port returns nothing.
func (*Decoder) Port() Port { return Port{} }

// PushFrame returns an error.
func (*Graph) PushFrame(int, *Decoder, int64) error { return errWithoutC }

// End returns an error.
func (*Graph) End(int, int64) error { return errWithoutC }

// Pull returns an error.
func (*Graph) Pull(int) (int64, error) { return 0, errWithoutC }

// Frame returns nothing.
func (*Graph) Frame() (width, height, samples int) { return 0, 0, 0 }

// Raw returns an error.
func (*Graph) Raw(b []byte) ([]byte, error) { return b, errWithoutC }

// Filter is never there.
type Filter struct{ handle }

// NewFilter returns an error: only programs with C can open FFmpeg.
func NewFilter(string, av.Rational, av.Rational) (*Filter, error) { return nil, errWithoutC }

// Open returns an error.
func (*Filter) Open(Port) error { return errWithoutC }

// Out returns nothing.
func (*Filter) Out() *Port { return new(Port) }

// Push returns an error.
func (*Filter) Push(*Decoder, int64) error { return errWithoutC }

// End returns an error.
func (*Filter) End(int64) error { return errWithoutC }

// Next returns an error.
func (*Filter) Next(*video.Frame) (int64, error) { return 0, errWithoutC }

// Encoder is never there.
type Encoder struct {
	handle
	Out     packets.Stream
	Samples int
}

// EncoderTakes returns an error: only programs with C can open FFmpeg.
func EncoderTakes(string) (Takes, error) { return Takes{}, errWithoutC }

// NewEncoder returns an error: only programs with C can open FFmpeg.
func NewEncoder(Encoding) (*Encoder, error) { return nil, errWithoutC }

// Push returns an error.
func (*Encoder) Push(*Graph, int64) error { return errWithoutC }

// Pull returns an error.
func (*Encoder) Pull(*packets.Packet) error { return errWithoutC }

// Writer is never there.
type Writer struct {
	handle
	HeadersApart bool
}

// FormatOf returns an error: only programs with C can open FFmpeg.
func FormatOf(string) (string, error) { return "", errWithoutC }

// NewWriter returns an error: only programs with C can open FFmpeg.
func NewWriter(*os.File, string) (*Writer, error) { return nil, errWithoutC }

// Add returns an error.
func (*Writer) Add(*packets.Stream) error { return errWithoutC }

// Like returns an error.
func (*Writer) Like(*Reader, []int, int64, int64) error { return errWithoutC }

// Begin returns an error.
func (*Writer) Begin(string) error { return errWithoutC }

// Write returns an error.
func (*Writer) Write(*packets.Packet, av.Rational) error { return errWithoutC }

// Finish returns an error.
func (*Writer) Finish() error { return errWithoutC }
