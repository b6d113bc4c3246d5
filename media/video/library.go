package video

import (
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/media/av"
	"github.com/headrace/headrace/media/yuv"
)

// Library decodes, and finds packets in containers of any kind. It may be used by several
// goroutines at once.
type Library interface {
	// Decoder opens a decoder of one thread.
	Decoder(s *Stream) (Decoder, error)
	// Demux finds all packets of a file in memory. It keeps nothing of data.
	Demux(data []byte) (*Container, error)
	// DemuxFile finds those of a file on a disk.
	DemuxFile(file OpenFile) (*Container, error)
}

// Decoder decodes packets in the order of the file. One goroutine at a time may use it.
type Decoder interface {
	// Feed takes the next packet, which is copied. Next must have returned ErrNeeds
	// before. Of a packet that is unwanted no frame comes, unless the decoder has patched
	// it up: others may refer to it. An empty packet that is last ends the stream.
	Feed(packet []byte, key, unwanted, last bool) error
	// Next decodes until a wanted frame comes, whose memory is the decoder's until the
	// next call. It returns ErrNeeds if there is none yet, and io.EOF after the last. Any
	// other error is about the packet that was fed last; the next call goes on after it.
	Next(f *Frame) error
	Close()
}

// ErrNeeds says that a decoder has used up its packets.
var ErrNeeds = errors.New("media/video: the decoder needs packets")

// Frame is a decoded frame.
type Frame struct {
	yuv.Picture
	Packet     int  // which it came from, counted from the decoder's first; -1 if that is not known
	Corrupt    bool // the decoder has found damage, and concealed it
	Damaged    bool // something that it is made of is damaged or missing: only clips that keep such frames show it
	Untagged   bool // the stream does not name its matrix; it is taken for BT.601
	Ranged     bool // the stream names its range
	Interlaced bool
	Format     string // the decoder's name of the format, as in "yuv420p10le"

	Primaries, Transfer uint8 // numbers of ITU-T H.273; 0 and 2: not said

	from Decoder // that handed it out
}

// Stream is what is known of a stream before its first packet.
type Stream struct {
	av.Stream
	Reorder int // how many frames a decoder must hold back; 0 if that is not known
	Siting  int // of chroma, by FFmpeg's numbers; 0 if it is not known
	Bits    int // of a pixel, by the container; 0: the codec's headers say it
	Choice  av.Choice
}

// Container is a file in whose format packets may be in pieces.
type Container struct {
	Format string // as FFmpeg calls it: "avi", "matroska,webm"
	Tracks []Track
	Live   bool   // nothing in the file says where it ends
	Short  error  // why the file is not whole; nil: it is
	Extra  []byte // packets that are in pieces in the file, put together; their offsets begin at its size
}

// Track is a stream with its packets.
type Track struct {
	Stream
	Packets []av.Packet
	Cover   bool  // a still beside the sound, such as the cover of an album
	Damage  error // why packets may be missing in the middle; nil: none are
}

// Use has a library decode from now on. Packages call it when they are imported.
func Use(l Library) { library.Store(&l) }

var library atomic.Pointer[Library]

// LibraryVersion is that of the library in use, if it says one.
func LibraryVersion() string {
	if l := library.Load(); l != nil {
		if v, ok := (*l).(interface{ Version() string }); ok {
			return v.Version()
		}
	}
	return ""
}

func inUse() (Library, error) {
	if l := library.Load(); l != nil {
		return *l, nil
	}
	return nil, fmt.Errorf("%w: this program decodes no video: import github.com/headrace/headrace/media/ffmpeg", media.ErrUnsupported)
}
