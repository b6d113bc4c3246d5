package sound

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/headrace/headrace/media/av"
	"github.com/headrace/headrace/media/av/mpa"
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

// Options say what is opened of a file.
type Options struct {
	Track int  // counted from 0; -1: the one that the file names as default
	Keep  bool // of a file that is cut off or damaged, what is there is read
	Raw   Raw  // the file is nothing but samples

	av.Choice // of a decoder
}

// Remedy is what users can do about a recording that is cut off or damaged.
const Remedy = `load_audio and decode_audio with damaged="keep" read what is there`

// Patched is a stream that may have been opened with [Options.Keep].
type Patched interface {
	// Damaged reports whether the file is cut off, or something that was read is damaged.
	Damaged() bool
}

// Damaged reports whether a stream is a recording that is not as it should be, as far as
// it was read.
func Damaged(s Stream) bool {
	p, ok := s.(Patched)
	return ok && p.Damaged()
}

// Format is a kind of file that recordings come in.
type Format struct {
	Name     string
	Suffixes []string               // of names of files, in lower case
	Is       func(file []byte) bool // by the first bytes

	// Within reports whether a recording begins somewhere in the first bytes of a file
	// that no format knows. Nil: it cannot.
	Within func(file []byte) bool

	// Decoded says that a decoder can be chosen for files of the format. Others need
	// none.
	Decoded bool

	// Tagged says that the format skips tags of ID3 before its files itself. Those before
	// files of others are left out.
	Tagged bool

	// Open opens an audio track. The bytes are read while the stream is used. If the
	// error is [ErrCoded], the next format of such files is tried.
	Open func(file []byte, o Options) (Stream, error)

	// OpenAt does so with a file that is not in memory, and reads no more of it than what
	// is asked for. Is can tell its files by [LeastHead] bytes. Nil: files of the format
	// are opened in memory.
	OpenAt func(file File, o Options) (Stream, error)

	// Parts reports whether OpenAt can open a file of the format, whose first bytes are
	// given. Nil: any.
	Parts func(head []byte, file File) (bool, error)
}

// ErrCoded marks a file whose samples are in a coding that its format leaves to another.
var ErrCoded = errors.New("coded")

// File is one that can be read anywhere.
type File interface {
	io.ReaderAt
	Size() int64
}

var formats []Format

// Register makes a format known. It is to be called before anything is opened. Formats
// that are read in parts are tried first.
func Register(f Format) {
	at := len(formats)
	if f.OpenAt != nil {
		at = 0
	}
	formats = slices.Insert(formats, at, f)
}

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
func Open(file []byte, track int) (Stream, error) { return OpenWith(file, Options{Track: track}) }

// OpenWith is [Open] with options.
func OpenWith(file []byte, o Options) (Stream, error) {
	if o.Raw != (Raw{}) {
		return opensRaw(InMemory(file), o)
	}
	all, skip, err := formatsOf(file, bytes.NewReader(file))
	if err == nil && o.Choice != (av.Choice{}) {
		name := all[0].Name
		if all = slices.DeleteFunc(all, func(f Format) bool { return !f.Decoded }); len(all) == 0 {
			err = fmt.Errorf("sound: files of the format %s have no decoder that could be chosen: "+
				"leave decoder and decoder_options out", name)
		}
	}
	for _, f := range all {
		s, wrong := f.Open(file[skip:], o)
		switch {
		case wrong == nil:
			return s, nil
		case errors.Is(wrong, ErrCoded):
			err = wrong
			continue
		case err != nil:
			wrong = fmt.Errorf("%w; %w", err, wrong)
		}
		return nil, wrong
	}
	return nil, err
}

// LeastHead is how many of its first bytes tell whether a file can be read in parts.
const LeastHead = 64

// InParts reports whether [OpenAt] can open a file. Those for which a decoder is chosen
// are opened in memory.
func InParts(file File, c av.Choice) (bool, error) {
	if c != (av.Choice{}) {
		return false, nil
	}
	head, all, file, err := inParts(file)
	if errors.Is(err, ErrUnknown) || err == nil && all[0].OpenAt == nil {
		return false, nil
	}
	if err != nil || all[0].Parts == nil {
		return err == nil, err
	}
	return all[0].Parts(head, file)
}

// OpenAt opens an audio track of a file as [OpenWith] does, and reads no more of it than
// what is asked for. Not all formats can be read in this way.
func OpenAt(file File, o Options) (Stream, error) {
	if o.Raw != (Raw{}) {
		return opensRaw(OnDisk(file, MostHead), o)
	}
	_, all, file, err := inParts(file)
	if err == nil && all[0].OpenAt == nil {
		err = fmt.Errorf("sound: files of the format %s are read whole", all[0].Name)
	}
	if err != nil {
		return nil, err
	}
	return all[0].OpenAt(file, o)
}

// inParts returns the formats that a file can have, and the file and its first bytes as
// they see them.
func inParts(file File) ([]byte, []Format, File, error) {
	head := make([]byte, LeastHead)
	n, err := file.ReadAt(head, 0)
	if err != nil && err != io.EOF {
		return nil, nil, nil, err
	}
	all, skip, err := formatsOf(head[:n], file)
	if err == nil && skip > 0 {
		file = &rest{file, skip}
		if n, err = file.ReadAt(head, 0); err == io.EOF {
			err = nil
		}
	}
	return head[:n], all, file, err
}

// MostHead is how many of its first bytes tell a file's format.
const MostHead = 64 << 10

// Check returns the error that [Open] would return of a file of no known format, by its
// first [MostHead] bytes: what is no recording need not be read to its end.
func Check(head []byte) error {
	_, _, err := formatsOf(head, bytes.NewReader(head))
	return err
}

// NameOf returns the name of the format of a file; "": none knows it. Begins is how many
// bytes before it are tags. Files that begin with a mark, as those with a container do,
// take a few bytes: a window may be all that is wanted of them.
func NameOf(file File) (name string, begins int64, err error) {
	for _, size := range []int64{mostPacket, MostHead} {
		head := make([]byte, min(size, file.Size()))
		n, err := file.ReadAt(head, 0)
		if err != nil && err != io.EOF {
			return "", 0, err
		}
		all, skip, err := formatsOf(head[:n], file)
		switch {
		case err == nil && (size == MostHead || all[0].Within == nil):
			// Of such a format no other bytes can come before the mark.
			return all[0].Name, skip, nil
		case err != nil && !errors.Is(err, ErrUnknown):
			return "", 0, err
		}
	}
	return "", 0, nil
}

// mostPacket is enough of a file to tell one of packets that have a fixed size.
const mostPacket = 512

// formatsOf returns the formats that a file can have, by its first bytes, and how many of
// these are tags that they do not skip. There is one at least, or an error.
func formatsOf(head []byte, file io.ReaderAt) (all []Format, skip int64, err error) {
	if len(head) == 0 {
		return nil, 0, errors.New("sound: the file is empty")
	}
	if mpa.ID3Size(head) > 0 {
		if skip, err = mpa.Tags(file); err != nil {
			return nil, 0, err
		}
		after := make([]byte, mostPacket)
		n, err := file.ReadAt(after, skip)
		if err != nil && err != io.EOF {
			return nil, 0, err
		}
		all = like(func(f *Format) bool { return !f.Tagged && f.Is(after[:n]) })
		if len(all) > 0 {
			return all, skip, nil
		}
	}
	if all = like(func(f *Format) bool { return f.Is(head) }); len(all) == 0 {
		all = like(func(f *Format) bool { return f.Within != nil && f.Within(head) })
	}
	if len(all) == 0 {
		err = fmt.Errorf("%w: it begins with %q", ErrUnknown, head[:min(len(head), 12)])
	}
	return all, 0, err
}

func like(is func(*Format) bool) (all []Format) {
	for i := range formats {
		if is(&formats[i]) {
			all = append(all, formats[i])
		}
	}
	return all
}
