package sound

import (
	"errors"
	"fmt"
)

// Info says what a recording is.
type Info struct {
	Rate     int    // samples of each channel a second
	Channels int    // from 1 on
	Samples  int64  // of each channel
	Mask     uint32 // where the channels are, as WAVE_FORMAT_EXTENSIBLE numbers speakers; 0: it is not said
}

// Stream is a recording. It may be used by one goroutine at a time.
type Stream interface {
	Info() Info
	// Read fills to with samples of all channels from a place on. There have to be as
	// many.
	Read(to []float32, from int64) error
}

// Format is a kind of file that recordings come in.
type Format struct {
	Name string
	Is   func(file []byte) bool            // by the first bytes
	Open func(file []byte) (Stream, error) // the bytes are read while the stream is used
}

var formats []Format

// Register makes a format known. It is to be called before anything is opened.
func Register(f Format) { formats = append(formats, f) }

// ErrUnknown marks a file of none of the formats.
var ErrUnknown = errors.New("sound: the file is of no format that is known")

// Open opens a recording in the memory of a file, which has to stay as it is.
func Open(file []byte) (Stream, error) {
	for _, f := range formats {
		if f.Is(file) {
			return f.Open(file)
		}
	}
	if len(file) == 0 {
		return nil, errors.New("sound: the file is empty")
	}
	return nil, fmt.Errorf("%w: it begins with %q", ErrUnknown, file[:min(len(file), 12)])
}
