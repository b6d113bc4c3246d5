package image

import "github.com/headrace/headrace/media"

// FrameWriter puts the frames of clips into their places in memory.
type FrameWriter struct {
	all, One media.Form // of the clips, and of a frame
	to       []byte
	apart    []byte // where channels are not side by side: a frame, before its planes go to their places
}

// NewFrameWriter makes one for clips of this form.
func NewFrameWriter(all media.Form, to []byte) FrameWriter {
	w := FrameWriter{all: all, One: all.Picture(), to: to}
	if all.Layout == media.CTHW {
		w.apart = make([]byte, w.One.Bytes())
	}
	return w
}

// Frame has draw write frame i.
func (w *FrameWriter) Frame(i int, draw func(to []byte) error) error {
	size := int(w.One.Bytes())
	if w.apart == nil {
		return draw(w.to[i*size:][:size])
	}
	if err := draw(w.apart); err != nil {
		return err
	}
	plane := size / w.One.Color.Channels()
	for c := range w.One.Color.Channels() {
		copy(w.plane(i, c, plane), w.apart[c*plane:][:plane])
	}
	return nil
}

// Repeat has frame i be what frame from is.
func (w *FrameWriter) Repeat(i, from int) {
	size := int(w.One.Bytes())
	if w.apart == nil {
		copy(w.to[i*size:][:size], w.to[from*size:])
		return
	}
	plane := size / w.One.Color.Channels()
	for c := range w.One.Color.Channels() {
		copy(w.plane(i, c, plane), w.plane(from, c, plane))
	}
}

// plane returns the memory for a channel of frame i.
func (w *FrameWriter) plane(i, c, size int) []byte {
	clip, frame := i/w.all.Frames, i%w.all.Frames
	return w.to[((clip*w.One.Color.Channels()+c)*w.all.Frames+frame)*size:][:size]
}
