package serve

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/big"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/headrace/headrace/internal/machine"
	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/media/ffmpeg"
	"github.com/headrace/headrace/media/recode"
)

// avTask holds the arguments of tasks on packets, streams, and containers to be written.
type avTask struct {
	Start     string            `json:"start"` // "n/d" or a decimal, in seconds; "": the file's beginning
	End       string            `json:"end"`
	Streams   []string          `json:"streams"`
	Bitstream map[string]string `json:"bitstream"`
	Count     int               `json:"count"` // frames or samples at once
	Stride    int               `json:"stride"`

	To      string      `json:"to"` // a path; "": the content is the result
	Format  string      `json:"format"`
	Options [][2]string `json:"options"` // of the container
	Save    []avSaved   `json:"save"`
	Stream  int         `json:"stream"` // that is written to

	Files bool `json:"files"` // options may have FFmpeg open files

	Graph    string    `json:"graph"`
	Inputs   []avArray `json:"inputs"`
	Pictures string    `json:"pictures"` // the format that they come out in

	window recode.Window
}

// avArray says what frames or samples are like that the client has in memory.
type avArray struct {
	Label    string `json:"label"`
	Format   string `json:"format"` // FFmpeg's name: rgb24, flt
	Width    int    `json:"width"`
	Height   int    `json:"height"`
	Rate     int    `json:"rate"` // of sound
	Channels int    `json:"channels"`
	Each     int    `json:"each"` // bytes of a frame, or of a sample of all channels
	FPS      [2]int `json:"fps"`
	Aspect   [2]int `json:"aspect"`
	File     bool   `json:"file"` // it is none of these, but a file with video or sound
}

// avSaved is a stream that is made of them.
type avSaved struct {
	avArray
	Codec       string      `json:"codec"`
	BitRate     int64       `json:"bit_rate"`
	GOP         int         `json:"gop"`
	BFrames     int         `json:"b_frames"`
	Quality     float32     `json:"quality"`
	Options     [][2]string `json:"options"`
	Filter      string      `json:"filter"`
	PixelFormat string      `json:"pixel_format"`
	Planes      bool        `json:"planes"` // frames keep their numbers
}

func init() {
	handleAV(map[string]handler{
		"demux": {(*task).prepareWindow, 1, (*ioSession).demux},
		"remux": {(*task).prepareWindow, 1, (*ioSession).remux},
		"end":   {nil, 0, (*ioSession).finishStream},
	})
}

// handleAV adds handlers of tasks with an avTask.
func handleAV(all map[string]handler) {
	for name, d := range all {
		prepare := d.prepare
		d.prepare = func(t *task) error {
			if err := t.parseAV(); err != nil || prepare == nil {
				return err
			}
			return prepare(t)
		}
		handlers[name] = d
	}
}

func (t *task) parseAV() error {
	av := new(avTask)
	t.more = av
	if t.MaxBytes < 0 {
		return fmt.Errorf("serve: max_bytes %d: must be a number of bytes", t.MaxBytes)
	}
	if err := t.prepareLimit(); err != nil {
		return err
	}
	if len(t.AV) == 0 {
		return nil
	}
	d := json.NewDecoder(bytes.NewReader(t.AV))
	d.DisallowUnknownFields()
	return d.Decode(av)
}

// av returns the task's arguments.
func (t *task) av() *avTask { return t.more.(*avTask) }

func (s *ioSession) finishStream(ctx context.Context) (*result, error) {
	s.endStream()
	return s.jsonResult(ctx, struct{}{})
}

func (t *task) prepareWindow() error {
	w := &t.av().window
	w.Streams = t.av().Streams
	for _, bound := range []struct {
		name, text string
		to         *recode.Second
	}{{"start", t.av().Start, &w.Start}, {"end", t.av().End, &w.End}} {
		if bound.text == "" {
			continue
		}
		t, ok := new(big.Rat).SetString(bound.text)
		if !ok || len(bound.text) > 100 {
			return fmt.Errorf("serve: %s is %.50q: must be seconds", bound.name, bound.text)
		}
		*bound.to = t
	}
	return w.Check()
}

// most returns the largest allowed size of a result in bytes.
func (t *task) most() int64 {
	if t.MaxBytes > 0 {
		return t.MaxBytes
	}
	return mostBytes
}

// file opens the one input.
func (s *ioSession) file(ctx context.Context) (*os.File, error) {
	in := s.input(0)
	return s.fileOf(ctx, &in)
}

// fileOf opens an input as a file of the system: a path, or a copy of the inbox in
// memory.
func (s *ioSession) fileOf(ctx context.Context, in *input) (f *os.File, err error) {
	err = machine.Patiently(ctx, func() (err error) {
		if in.path != "" {
			f, err = recode.Open(ctx, in.path)
			return err
		}
		f, err = s.copied(in)
		return err
	})
	return f, err
}

// copied copies an input in the inbox to a file in memory, because the client may change
// the inbox.
func (s *ioSession) copied(in *input) (*os.File, error) {
	n := int64(in.place.Length)
	if n == 0 {
		return nil, fmt.Errorf("%w: the file is empty", media.ErrTruncated)
	}
	fd, err := unix.MemfdCreate("headrace-media", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, err
	}
	f := os.NewFile(uintptr(fd), "memory")
	if _, err := io.Copy(f, io.NewSectionReader(inbox(in.inbox), int64(in.place.At), n)); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// compute calls do through the gate. Crashes are attributed to the input, or to the file
// being written.
func (s *ioSession) compute(ctx context.Context, do func() error) error {
	in := input{path: s.task.av().To}
	if len(s.message.Inputs) > 0 {
		in = s.input(0)
	}
	return s.computeOn(ctx, &in, do)
}

// computed is compute for a function with a result.
func computed[T any](ctx context.Context, s *ioSession, do func() (T, error)) (got T, err error) {
	err = s.compute(ctx, func() (err error) {
		got, err = do()
		return err
	})
	return got, err
}

func (s *ioSession) demux(ctx context.Context) (*result, error) {
	f, err := s.file(ctx)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	about, err := f.Stat()
	if err != nil {
		return nil, err
	}
	grant, err := s.engine.memory.ask(ctx, min(about.Size(), s.task.most()))
	if err != nil {
		return nil, err
	}
	defer grant.Release()

	all, err := computed(ctx, s, func() ([]byte, error) {
		p, err := recode.Demux(ctx, f, &s.task.av().window, s.task.av().Bitstream, s.task.most())
		if err != nil {
			return nil, err
		}
		return p.Append(nil)
	})
	if err != nil {
		return nil, err
	}
	return s.bytesResult(ctx, all)
}

// container returns the container to write. If the task gives no format, the file's name
// decides.
func (t *task) container() (c recode.Container, err error) {
	c.Format = t.av().Format
	if c.Format == "" {
		if c.Format, err = recode.FormatOf(filepath.Base(t.av().To)); err != nil {
			return c, err
		}
		if c.Format == "" {
			return c, fmt.Errorf("%w: the name %q has no known suffix: give format", media.ErrUnsupported, filepath.Base(t.av().To))
		}
	}
	c.Options = options(t.av().Options)
	return c, nil
}

// opensNoFiles refuses options that may make FFmpeg open files, unless the client allows
// them and may do so.
func (s *ioSession) opensNoFiles(of ffmpeg.OptionsOf, name, options string) error {
	if options == "" || s.task.av().Files && s.number != guestNumber {
		return nil
	}
	err := ffmpeg.OpensNoFiles(of, name, options)
	switch {
	case err == nil:
		return nil
	case s.number == guestNumber:
		return fmt.Errorf("%w, which a process that shares the engine of another may not", err)
	}
	return fmt.Errorf("%w; files=True allows that", err)
}

// options formats names and values the way FFmpeg expects.
func options(all [][2]string) string {
	pairs, order := map[string]string{}, []string{}
	for _, o := range all {
		pairs[o[0]] = o[1]
		order = append(order, o[0])
	}
	return recode.Options(pairs, order)
}

func (s *ioSession) remux(ctx context.Context) (*result, error) {
	f, err := s.file(ctx)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	to, err := s.task.container()
	if err != nil {
		return nil, err
	}
	if err := s.opensNoFiles(ffmpeg.OfContainer, to.Format, to.Options); err != nil {
		return nil, err
	}
	out, err := recode.Create(s.task.av().To)
	if err != nil {
		return nil, err
	}
	defer out.Discard()
	if err := s.compute(ctx, func() error {
		return recode.Remux(ctx, f, &s.task.av().window, s.task.av().Bitstream, out.File, to)
	}); err != nil {
		return nil, err
	}
	return s.written(ctx, out)
}

// written completes a file. If it has no name, its content is the result.
func (s *ioSession) written(ctx context.Context, out *recode.Output) (*result, error) {
	if s.task.av().To != "" {
		if err := out.Commit(ctx); err != nil {
			return nil, err
		}
		return s.jsonResult(ctx, struct{}{})
	}
	var r *result
	err := out.Content(func(n int64) ([]byte, error) {
		slot, err := s.results.reserve(ctx, n)
		if err != nil {
			return nil, err
		}
		r = newBytesResult(slot, int(n))
		return slot.Bytes()[:n], nil
	})
	if err != nil {
		r.drop()
		return nil, err
	}
	return r, nil
}
