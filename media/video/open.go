package video

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/media/av"
	"github.com/headrace/headrace/media/av/mp4"
	"github.com/headrace/headrace/media/av/whole"
)

// File is what a video is read from.
type File interface {
	io.ReaderAt
	Size() int64
}

// Bytes is a file in memory.
type Bytes []byte

// Size returns the number of bytes.
func (b Bytes) Size() int64 { return int64(len(b)) }

// ReadAt implements [io.ReaderAt].
func (b Bytes) ReadAt(p []byte, at int64) (int, error) {
	if at < 0 || at >= int64(len(b)) {
		return 0, io.EOF
	}
	n := copy(p, b[at:])
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

// Video is one stream of a file. It does not change, and may be used by several
// goroutines at once.
type Video struct {
	Stream  Stream
	Table   *av.Table
	Format  string      // of the file, as FFmpeg calls it: "mp4", "matroska,webm"
	Streams []av.Stream // all of the file
	Live    bool        // nothing in the file says where it ends
	Short   error       // why the file is not whole, or damaged, of one that was opened by [OpenKept]

	file  File
	extra []byte // packets from file.Size() on
}

// Suffixes are those of names of files that may be videos.
func Suffixes() []string {
	return []string{".mp4", ".m4v", ".mov", ".mkv", ".webm", ".avi", ".ts", ".mts", ".m2ts",
		".mpg", ".mpeg", ".flv", ".wmv", ".ogv", ".3gp", ".h264", ".hevc"}
}

// Open finds the packets of a stream of a file: of the number stream among those of
// video, or, if it is negative, of the one that is shown if nobody chooses. The file has
// to stay open as long as clips of the video are read.
func Open(file File, stream int) (*Video, error) {
	v, err := open(file, stream)
	if err == nil && v.Short != nil {
		v, err = nil, fmt.Errorf("%w: %s", v.Short, Remedy)
	}
	return v, about(err)
}

// OpenKept is Open that also opens a file that is cut off: the video has what is there.
func OpenKept(file File, stream int) (*Video, error) {
	v, err := open(file, stream)
	return v, about(err)
}

// Remedy tells users what to do about a video that is cut off or damaged.
const Remedy = `decode_video with damaged="keep" reads what is there`

// about has an error speak of a video.
func about(err error) error { return media.About("video", err) }

func open(file File, stream int) (*Video, error) {
	var head [8]byte
	if n, err := file.ReadAt(head[:], 0); err != nil && err != io.EOF {
		return nil, err
	} else if n == 0 {
		return nil, fmt.Errorf("%w: the file is empty", media.ErrTruncated)
	}
	if mp4.Probe(head[:]) {
		v, err := openMP4(file, stream)
		if errors.Is(err, mp4.ErrUnsupported) { // FFmpeg knows codecs that are as old as MOV
			if other, failed := openOther(file, stream); failed == nil {
				return other, nil
			}
		}
		return v, err
	}
	return openOther(file, stream)
}

func openMP4(file File, stream int) (*Video, error) {
	f, err := mp4.Open(file, file.Size())
	if err != nil {
		return nil, known(err)
	}
	tracks := make([]Track, len(f.Streams))
	for i, s := range f.Streams {
		tracks[i].Stream.Stream = s
	}
	i, err := choose(tracks, stream)
	if err != nil {
		return nil, err
	}
	v := &Video{Stream: tracks[i].Stream, Format: "mp4", Streams: streamsOf(tracks), file: file}
	if v.Table, err = f.Table(i); err != nil {
		return nil, known(err)
	}
	v.Stream.Reorder = v.Table.Reorder
	if f.Fragmented() { // its index does not say how many fragments there are
		err = v.check(file)
	}
	return v, err
}

// check finds out whether a file is whole.
func (v *Video) check(file File) error {
	end, err := whole.Check(v.Format, file, file.Size())
	if errors.Is(err, media.ErrTruncated) {
		v.Short, err = err, nil
	}
	v.Live = end == whole.Open
	return err
}

// Indexed is a file that finds its packets by itself: somebody has kept them.
type Indexed interface {
	Container() (*Container, error)
}

// OpenFile is a file that libraries may read by themselves, at any place.
type OpenFile interface {
	File
	Descriptor() int // is the file's as long as it is open; negative: it has none
}

// Spooled is a file that may have no descriptor, as it is elsewhere, and is copied if a
// library has to read all of it.
type Spooled interface {
	OpenFile
	OnDisk() (*os.File, error)
}

// onDisk is a copy of a file.
type onDisk struct {
	*os.File
	size int64
}

// Size implements [File].
func (f onDisk) Size() int64 { return f.size }

// Descriptor implements [OpenFile].
func (f onDisk) Descriptor() int { return int(f.Fd()) }

// Demux has the library find all packets of a file, which is read from its beginning to
// its end.
func Demux(file File) (*Container, error) {
	c, err := demux(file)
	return c, about(err)
}

func demux(file File) (*Container, error) {
	l, err := inUse()
	if err != nil {
		return nil, err
	}
	switch f := file.(type) {
	case Bytes:
		return l.Demux(f)
	case OpenFile:
		s, elsewhere := f.(Spooled)
		if elsewhere = elsewhere && f.Descriptor() < 0; !elsewhere {
			return l.DemuxFile(f)
		}
		copied, err := s.OnDisk()
		if err != nil {
			return nil, err
		}
		defer copied.Close()
		return l.DemuxFile(onDisk{copied, f.Size()})
	}
	data, err := io.ReadAll(io.NewSectionReader(file, 0, file.Size()))
	if err != nil {
		return nil, err
	}
	return l.Demux(data)
}

// openOther opens a file that is not MP4.
func openOther(file File, stream int) (v *Video, err error) {
	var c *Container
	if f, ok := file.(Indexed); ok {
		c, err = f.Container()
	} else {
		c, err = demux(file)
	}
	if err != nil {
		return nil, err
	}
	return found(file, c, stream)
}

// found is a video of the packets that were found in a file.
func found(file File, c *Container, stream int) (v *Video, err error) {
	i, err := choose(c.Tracks, stream)
	if err != nil {
		return nil, err
	}
	t := &c.Tracks[i]
	// AVI has no display times. For codecs whose frames may refer to any other, the
	// library guesses at them, and frame n would not be frame n.
	if c.Format == "avi" && t.Reorder > 0 && (t.Codec == "h264" || t.Codec == "hevc") {
		return nil, fmt.Errorf("%w: AVI stores no display times, which %s with B-frames needs: "+
			"convert it, ffmpeg -i old.avi new.mp4", media.ErrUnsupported, t.Codec)
	}
	v = &Video{Stream: t.Stream, Format: c.Format, Live: c.Live, Short: cmp.Or(c.Short, t.Damage), file: file, extra: c.Extra}
	v.Streams = streamsOf(c.Tracks)
	if err := v.fromFirstKey(t.Packets); err != nil {
		return nil, err
	}
	if v.Table, err = av.NewTable(t.Stream.Stream, t.Packets); err != nil {
		return nil, fmt.Errorf("%w: %w", media.ErrCorrupt, err)
	}
	v.Stream.Reorder = max(v.Stream.Reorder, v.Table.Reorder)
	return v, nil
}

func streamsOf(tracks []Track) []av.Stream {
	all := make([]av.Stream, len(tracks))
	for i := range tracks {
		all[i] = tracks[i].Stream.Stream
	}
	return all
}

// choose returns the index of a stream of video.
func choose(tracks []Track, stream int) (int, error) {
	var all []int
	for i := range tracks {
		if t := &tracks[i]; t.Kind == av.Video && !t.Cover {
			all = append(all, i)
		}
	}
	switch {
	case len(all) == 0:
		return 0, fmt.Errorf("%w: the file has no video: it has %s", media.ErrUnsupported, kinds(tracks))
	case stream >= len(all):
		return 0, fmt.Errorf("%w: the file has no stream %d of video: it has %d of them", media.ErrUnsupported, stream, len(all))
	case stream >= 0:
		return all[stream], nil
	}
	for _, i := range all {
		if tracks[i].Default {
			return i, nil
		}
	}
	return all[0], nil
}

// kinds says what a file has.
func kinds(tracks []Track) string {
	sound, covers := 0, 0
	for i := range tracks {
		if tracks[i].Kind == av.Audio {
			sound++
		}
		if tracks[i].Cover {
			covers++
		}
	}
	switch {
	case sound > 0 && covers > 0:
		return "sound and a cover"
	case sound > 0:
		return "sound alone"
	case covers > 0:
		return "a cover alone"
	}
	return "no streams"
}

// known gives an error about what is in the file the mark that errors of package media
// have. One about reading it stays what it is.
func known(err error) error {
	switch {
	case errors.Is(err, mp4.ErrFormat):
		return fmt.Errorf("%w: %w", media.ErrCorrupt, err)
	case errors.Is(err, mp4.ErrUnsupported):
		return fmt.Errorf("%w: %w", media.ErrUnsupported, err)
	}
	return err
}
