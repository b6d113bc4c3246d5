package ffmpeg

import (
	"github.com/headrace/headrace/media/av"
	"github.com/headrace/headrace/media/yuv"
)

// Info is what an opened library is.
type Info struct {
	Shim          string   // the path of what opens it
	Path          string   // the path of its libavcodec
	Version       string   // of FFmpeg, as in "5.1.9-0+deb12u1"; that of wheels is "7.1.5-headrace-full"
	License       string   // as in "LGPL version 2.1 or later"
	Configuration string   // what it was configured with
	Decoders      []string // codecs that it decodes, by FFmpeg's names of them, as in "h264"
}

// OptionsOf says whose options a text has, as [OpensNoFiles] takes it.
type OptionsOf int

// The numbers are those of hrav.h. The text of a graph is all of it, and needs no name.
const (
	OfGraph OptionsOf = iota
	OfEncoder
	OfContainer
)

// Stream is what a container says about a stream before its first packet. What is 0 is
// unknown.
type Stream struct {
	Codec         string // FFmpeg's name of the format, as in "h264", or that of a decoder, as in "libdav1d"
	Config        []byte // avcC, hvcC, av1C …: what is before the packets
	Tag           uint32 // the container's four letters, the first lowest
	Width, Height int

	// Reorder is how many frames come between a packet and its own, at most. 0 lets
	// FFmpeg find out, which may lose a frame where the stream does not say it.
	Reorder int

	// Numbers of ITU-T H.273, where the codec's own headers do not say them. 2 is
	// unknown, as 0 is.
	Matrix, Primaries, Transfer int
	FullRange                   bool
	Siting                      int // of chroma, by FFmpeg's numbers: H.273's and 1

	av.Choice // of a decoder

	// Of sound.
	Audio          bool
	Rate, Channels int
	Block, Bits    int // bytes of a block, bits of a sample
	BitRate        int // bits of a second, on average
}

// Packet is one packet: a part of the data that it is given with.
type Packet struct {
	Offset, Size int
	Key          bool // decoding may begin with it, by what the container says
	Unwanted     bool // it is decoded, because others refer to it, and its frame is not handed out
}

// Frame is a decoded frame. Its memory is the decoder's, until the next call to it.
type Frame struct {
	Packet int    // which it came from, counted since the decoder was made or reset; -1 if FFmpeg does not know
	Format string // FFmpeg's name of the format, as in "yuv420p10le"

	Key     bool
	Corrupt bool // FFmpeg has found damage, and concealed it

	Image Image
	Sound Sound
}

// Image is what a frame of video shows.
type Image struct {
	yuv.Picture                // in formats that can be converted; else its kind is 0
	Primaries, Transfer int    // numbers of ITU-T H.273
	Untagged            bool   // the stream does not name its matrix, which is taken for that of BT.601, as FFmpeg takes it
	Ranged              bool   // the stream names its range
	Aspect              [2]int // of a pixel; 0 if the codec does not say it
	Interlaced, Top     bool   // two fields; the upper one first
}

// Sample is the type of samples of sound.
type Sample uint8

// The types, as the machine has them.
const (
	Uint8 Sample = iota
	Int16
	Int32
	Float32
	Float64
	Int64
)

// Bytes is the size of a sample.
func (s Sample) Bytes() int { return [...]int{1, 2, 4, 4, 8, 8}[s] }

// Sound is what a frame of sound has.
type Sound struct {
	Rate, Channels int
	Samples        int      // of each channel
	Layout         uint64   // where channels belong, in the bits of WAV; 0 if the codec does not say it
	Type           Sample   //
	Planes         [][]byte // one for each channel, or one for all, whose samples take turns
}
