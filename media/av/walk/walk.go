// Package walk finds damage in the middle of files, by the structure of their containers.
//
// Demuxers skip damage without an error, and go on after it. Package whole looks at the
// end of a file, for which less has to be read.
package walk

import (
	"cmp"
	"errors"
	"io"
	"strings"

	"github.com/headrace/headrace/media/av/heads"
	"github.com/headrace/headrace/media/av/mpa"
)

// A Walk goes through a file from its beginning, or from a place that was sought.
type Walk struct {
	file *file
	now  walker
	base int64 // the place of its beginning, for errors
	at   int64 // all before this is followed
	err  error
}

// A walker follows the structure of one format.
type walker interface {
	// step follows one element, at a place, and returns the end of it: the file's
	// size, if nothing after it can be followed.
	step(f *file, at int64) (next int64, err error)
	// begin starts again at a place that was sought, and returns that of the first
	// element from there on: the file's size, if there is none.
	begin(f *file, at int64) int64
}

// walkers are those of formats, by FFmpeg's names of demuxers.
var walkers = map[string]func() walker{
	"ogg":      func() walker { return &pageWalk{} },
	"matroska": func() walker { return &matroskaWalk{} },
	"mpegts":   func() walker { return &transportWalk{} },
	"flv":      func() walker { return &flvWalk{} },
	"ac3":      func() walker { return frameWalk{} },
	"eac3":     func() walker { return frameWalk{} },
	"avi":      func() walker { return &aviWalk{} },
}

// New returns a walk from the beginning of a file of a format, by FFmpeg's name of it. If
// that is a part of another file, base is its place there. It is nil if the format is
// none that can be followed.
func New(format string, from io.ReaderAt, size, base int64) *Walk {
	name, _, _ := strings.Cut(format, ",")
	begin := walkers[name]
	if begin == nil {
		return nil
	}
	w := &Walk{file: &file{File: heads.File{From: from, Len: size}}, now: begin(), base: base}
	if tags, err := mpa.Tags(from); err == nil && tags < size {
		w.at = tags
	}
	return w
}

// To follows the file up to the element at a place. It returns the [Damage] before that,
// again and again.
func (w *Walk) To(place int64) error {
	if w == nil {
		return nil
	}
	place = min(place, w.file.Len-1)
	for w.at <= place && w.err == nil {
		next, err := w.now.step(w.file, w.at)
		if d := (*Damage)(nil); errors.As(err, &d) {
			d.At += w.base
		}
		if w.err = cmp.Or(w.file.Err, err); w.err == nil {
			w.at = max(next, w.at+1)
		}
	}
	return w.err
}

// Light leaves out checksums that demuxers do not look at: they need more to be read than
// a window takes.
func (w *Walk) Light() {
	if w != nil {
		w.file.light = true
	}
}

// From goes on from another place, which was sought.
func (w *Walk) From(place int64) {
	if w == nil {
		return
	}
	w.err = nil
	w.at = w.now.begin(w.file, place)
}

// Forgive has damage of one stream not be told again, and the walk go on.
func (w *Walk) Forgive() { w.err = nil }

// Damages follows a file to its end, and returns the first [Damage] of each stream, or
// of all.
func Damages(format string, from io.ReaderAt, size, base int64) (all []*Damage, err error) {
	for w := New(format, from, size, base); ; w.Forgive() {
		err := w.To(size)
		d := (*Damage)(nil)
		if !errors.As(err, &d) {
			return all, err
		}
		if all = append(all, d); d.Stream < 0 {
			return all, nil
		}
	}
}
