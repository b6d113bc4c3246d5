package serve

import (
	"context"
	"fmt"
	"os"

	"github.com/headrace/headrace/media/video"
	"github.com/headrace/headrace/op/sound"
	opvideo "github.com/headrace/headrace/op/video"
	"github.com/headrace/headrace/store"
)

// clipOf is a clip of a video together with its audio.
type clipOf struct {
	file       osFile
	video      *opvideo.VideoClip
	times      []float64 // of its frames
	start, end float64
}

// osFile is a file as package video reads it.
type osFile struct {
	*os.File
	size int64
}

// Size implements video.File.
func (f osFile) Size() int64 { return f.size }

// Descriptor implements video.OpenFile.
func (f osFile) Descriptor() int { return int(f.Fd()) }

// openClipOf opens a clip of a file on disk or in memory.
func openClipOf(f *os.File, path string, t *task) (*clipOf, error) {
	about, err := f.Stat()
	if err != nil {
		return nil, err
	}
	file := osFile{f, about.Size()}
	var packets video.File = file
	if _, _, copied := store.Scheme(path); path != "" && !copied {
		packets = opvideo.IndexedVideo(file, path, nil)
	}
	v, err := t.clip.Open(packets, opvideo.FrameList{}, t.steps)
	if err != nil {
		return nil, err
	}
	c := &clipOf{file: file, video: v, times: v.Times()}
	c.start, c.end = v.Span()
	return c, nil
}

// sound decodes the audio of the clip.
func (c *clipOf) sound(ctx context.Context, by sound.Standalone, most int64) (all []float32, rate, channels int, err error) {
	h, err := by.OpenHeard(c.file, c.start, c.end)
	if err != nil {
		return nil, 0, 0, err
	}
	defer h.Close()
	n := h.Samples() * int64(h.Channels())
	if 4*n > most {
		return nil, 0, 0, fmt.Errorf("%w: sound of more than %d bytes; use a shorter window, or raise max_bytes", store.ErrTooLarge, most)
	}
	all = make([]float32, n)
	return all, h.Rate(), h.Channels(), h.Read(ctx, all)
}
