package ffmpeg

import (
	"errors"
	"strconv"
)

// ErrNeeds says that a decoder has used up its packets, and may have frames for more.
var ErrNeeds = errors.New("media/ffmpeg: the decoder needs packets")

// PacketError says which packet could not be decoded.
type PacketError struct {
	Packet int // counted since the decoder was made or reset
	Err    error
}

func (e *PacketError) Error() string {
	return e.Err.Error() + " (packet " + strconv.Itoa(e.Packet) + ")"
}

// Unwrap returns what FFmpeg said.
func (e *PacketError) Unwrap() error { return e.Err }
