package mp4

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/headrace/headrace/media/av"
)

// errJoined says that a file is several, one after the other. The first index knows
// nothing of the rest, so whoever follows it loses that without a word.
var errJoined = errors.New("another file was joined to this one, byte by byte; split it there, or join them with ffmpeg -f concat")

// CheckJoined is the error that [Open] gives of files that were joined, and of no others.
// It keeps nothing of what it reads.
func CheckJoined(r io.ReaderAt, size int64) error {
	f := &File{size: size, room: packetsOf(size), skim: true}
	if err := f.read(&walker{r: r, size: size}); errors.Is(err, errJoined) {
		return err
	}
	return nil
}

// checkJoined looks for the beginning of another file behind the index. An index may come
// twice, at both ends of a file, or before each part of a broadcast.
func (w *walker) checkJoined(moov *box, fragmented bool) error {
	samples := false
	for at := moov.at + int64(moov.head+len(moov.body)); ; {
		t, err := w.next(at)
		if err != nil { // what cannot be read is told by those who need it
			return nil
		}
		another := false
		switch t.kind {
		case "mdat":
			samples = true
		case "ftyp":
			another = !fragmented
		case "moov":
			another = !w.repeats(t, moov) || !fragmented && w.samples && samples
		}
		if another {
			return fmt.Errorf("mp4: box %q at byte %d: %w: %w", t.kind, at, errJoined, ErrFormat)
		}
		at += t.size
	}
}

// repeats reports whether a box is the same as one that was read.
func (w *walker) repeats(t top, as *box) bool {
	if t.size-int64(t.head) != int64(len(as.body)) {
		return false
	}
	again, err := w.read(t)
	return err == nil && bytes.Equal(again.body, as.body)
}

// goesBack reports whether a fragment that begins at a time is of another recording than
// those before it. Writers may be a little off.
func (g *fragment) goesBack(at int64) bool {
	t := g.track
	if t == nil || !t.fragmented {
		return false
	}
	off := av.Rescale(1, av.Rational{Num: 1, Den: 2}, t.stream.TimeBase, av.Nearest) // half a second
	return at < t.last && (at <= t.first || at < t.last-off)
}
