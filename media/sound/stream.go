package sound

import (
	"errors"
	"fmt"
	"io"
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
	// Close gives back what the stream holds besides Go's memory.
	Close()
}

// Format is a kind of file that recordings come in.
type Format struct {
	Name     string
	Suffixes []string               // of names of files, in lower case
	Is       func(file []byte) bool // by the first bytes

	// Open opens an audio track, counted from 0; -1: the one that the file names as
	// default. The bytes are read while the stream is used.
	Open func(file []byte, track int) (Stream, error)

	// OpenAt does so with a file that is not in memory, and reads no more of it than what
	// is asked for. Is can tell its files by [LeastHead] bytes. Nil: files of the format
	// are opened in memory.
	OpenAt func(file File, track int) (Stream, error)
}

// File is one that can be read anywhere.
type File interface {
	io.ReaderAt
	Size() int64
}

var formats []Format

// Register makes a format known. It is to be called before anything is opened.
func Register(f Format) { formats = append(formats, f) }

// Suffixes are those of the names of files of all formats.
func Suffixes() (all []string) {
	for _, f := range formats {
		all = append(all, f.Suffixes...)
	}
	return all
}

// ErrUnknown marks a file of none of the formats.
var ErrUnknown = errors.New("sound: unknown format")

// Open opens an audio track of a file in memory, which has to stay as it is: that of a
// number, counted from 0, or, with -1, the file's default. The stream must be closed.
func Open(file []byte, track int) (Stream, error) {
	f, err := formatOf(file)
	if err != nil {
		return nil, err
	}
	return f.Open(file, track)
}

// LeastHead is how many of its first bytes tell whether a file can be read in parts.
const LeastHead = 64

// InParts tells of a file that begins like this whether [OpenAt] can open it.
func InParts(head []byte) bool {
	f, err := formatOf(head)
	return err == nil && f.OpenAt != nil
}

// OpenAt opens an audio track of a file as [Open] does, and reads no more of it than what
// is asked for. Not all formats can be read in this way.
func OpenAt(file File, track int) (Stream, error) {
	head := make([]byte, LeastHead)
	n, err := file.ReadAt(head, 0)
	if err != nil && err != io.EOF {
		return nil, err
	}
	f, err := formatOf(head[:n])
	if err == nil && f.OpenAt == nil {
		err = fmt.Errorf("sound: files of the format %s are read whole", f.Name)
	}
	if err != nil {
		return nil, err
	}
	return f.OpenAt(file, track)
}

// MostHead is how many of its first bytes tell a file's format.
const MostHead = 64 << 10

// Check returns the error that [Open] would return of a file of no known format, by its
// first [MostHead] bytes: what is no recording need not be read to its end.
func Check(head []byte) error {
	_, err := formatOf(head)
	return err
}

func formatOf(head []byte) (Format, error) {
	for _, f := range formats {
		if f.Is(head) {
			return f, nil
		}
	}
	if len(head) == 0 {
		return Format{}, errors.New("sound: the file is empty")
	}
	return Format{}, fmt.Errorf("%w: it begins with %q", ErrUnknown, head[:min(len(head), 12)])
}
