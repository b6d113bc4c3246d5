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

	"headrace/internal/machine"
	"headrace/media"
	"headrace/media/ffmpeg"
	"headrace/media/recode"
)

// avTask is what is asked for of packets, of streams, and of containers that are written.
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

func init() {
	for name, d := range map[string]doing{
		"demux":   {(*errand).prepareWindow, 1, (*errands).demux},
		"remux":   {(*errand).prepareWindow, 1, (*errands).remux},
		"media":   {(*errand).prepareMedia, 1, (*errands).mediaClip},
		"frames":  {(*errand).prepareFrames, 1, (*errands).openFrames},
		"samples": {(*errand).prepareSamples, 1, (*errands).openSamples},
		"both":    {(*errand).prepareMedia, 1, (*errands).openMedia},
		"heard":   {nil, 0, (*errands).heard},
		"next":    {(*errand).prepareNext, 0, (*errands).nextPiece},
		"save":    {(*errand).prepareSave, 0, (*errands).openSaver},
		"write":   {nil, 1, (*errands).writePiece},
		"finish":  {nil, 0, (*errands).finishSaver},
		"end":     {nil, 0, (*errands).letGo},
		"filter":  {(*errand).prepareFilter, -1, (*errands).filter},
	} {
		prepare := d.prepare
		d.prepare = func(e *errand) error {
			if err := e.parseAV(); err != nil || prepare == nil {
				return err
			}
			return prepare(e)
		}
		doings[name] = d
	}
}

func (e *errand) parseAV() error {
	t := new(avTask)
	e.more = t
	if e.MaxBytes < 0 {
		return fmt.Errorf("serve: max_bytes %d: must be a number of bytes", e.MaxBytes)
	}
	if err := e.prepareLimit(); err != nil {
		return err
	}
	if len(e.AV) == 0 {
		return nil
	}
	d := json.NewDecoder(bytes.NewReader(e.AV))
	d.DisallowUnknownFields()
	return d.Decode(t)
}

// av is what was asked for.
func (e *errand) av() *avTask { return e.more.(*avTask) }

func (s *errands) letGo(ctx context.Context) (*result, error) {
	s.end()
	return s.told(ctx, struct{}{})
}

func (e *errand) prepareWindow() error {
	w := &e.av().window
	w.Streams = e.av().Streams
	for _, bound := range []struct {
		name, text string
		to         *recode.Second
	}{{"start", e.av().Start, &w.Start}, {"end", e.av().End, &w.End}} {
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

func (e *errand) prepareFrames() error {
	if err := e.prepareVideo(); err != nil {
		return err
	}
	return e.prepareWindow()
}

func (e *errand) prepareSamples() error {
	if err := e.prepareAudio(); err != nil {
		return err
	}
	return e.prepareWindow()
}

func (e *errand) prepareNext() error {
	if e.av().Count < 1 {
		return fmt.Errorf("serve: count is %d: must be at least 1", e.av().Count)
	}
	return nil
}

// most is how many bytes a result may have.
func (e *errand) most() int64 {
	if e.MaxBytes > 0 {
		return e.MaxBytes
	}
	return mostBytes
}

// file opens the one input.
func (s *errands) file(ctx context.Context) (*os.File, error) {
	in := s.input(0)
	return s.fileOf(ctx, &in)
}

// fileOf opens an input as a file of the system's: one in memory, of what the client has
// there.
func (s *errands) fileOf(ctx context.Context, in *input) (f *os.File, err error) {
	err = machine.Patiently(ctx, func() (err error) {
		if in.path != "" {
			f, err = recode.Open(in.path)
			return err
		}
		f, err = s.copied(in)
		return err
	})
	return f, err
}

// copied makes a file of an input that is in the inbox: what is there is the
// client's, and may change.
func (s *errands) copied(in *input) (*os.File, error) {
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

// calling calls do through the gate. It works on the input, or on a file that is written.
func (s *errands) calling(ctx context.Context, do func() error) error {
	in := input{path: s.what.av().To}
	if len(s.task.Inputs) > 0 {
		in = s.input(0)
	}
	return s.computing(ctx, &in, do)
}

// called is what a call through the gate returns.
func called[T any](ctx context.Context, s *errands, do func() (T, error)) (got T, err error) {
	err = s.calling(ctx, func() (err error) {
		got, err = do()
		return err
	})
	return got, err
}

func (s *errands) demux(ctx context.Context) (*result, error) {
	f, err := s.file(ctx)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	about, err := f.Stat()
	if err != nil {
		return nil, err
	}
	grant, err := s.images.larder.ask(ctx, min(about.Size(), s.what.most()))
	if err != nil {
		return nil, err
	}
	defer grant.Release()

	all, err := called(ctx, s, func() ([]byte, error) {
		p, err := recode.Demux(ctx, f, &s.what.av().window, s.what.av().Bitstream, s.what.most())
		if err != nil {
			return nil, err
		}
		return p.Append(nil)
	})
	if err != nil {
		return nil, err
	}
	return s.bytes(ctx, all)
}

// container says what is written, by the name of the file where nothing else does.
func (e *errand) container() (c recode.Container, err error) {
	c.Format = e.av().Format
	if c.Format == "" {
		if c.Format, err = recode.FormatOf(filepath.Base(e.av().To)); err != nil {
			return c, err
		}
		if c.Format == "" {
			return c, fmt.Errorf("%w: the name %q has no known suffix: give format", media.ErrUnsupported, filepath.Base(e.av().To))
		}
	}
	c.Options = options(e.av().Options)
	return c, nil
}

// opensNoFiles refuses options that may have FFmpeg open files, unless that was allowed
// by somebody who may.
func (s *errands) opensNoFiles(of ffmpeg.OptionsOf, name, options string) error {
	if options == "" || s.what.av().Files && s.number != guestNumber {
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

// options writes names and values as FFmpeg has them.
func options(all [][2]string) string {
	pairs, order := map[string]string{}, []string{}
	for _, o := range all {
		pairs[o[0]] = o[1]
		order = append(order, o[0])
	}
	return recode.Options(pairs, order)
}

func (s *errands) remux(ctx context.Context) (*result, error) {
	f, err := s.file(ctx)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	to, err := s.what.container()
	if err != nil {
		return nil, err
	}
	if err := s.opensNoFiles(ffmpeg.OfContainer, to.Format, to.Options); err != nil {
		return nil, err
	}
	out, err := recode.Create(s.what.av().To)
	if err != nil {
		return nil, err
	}
	defer out.Discard()
	if err := s.calling(ctx, func() error {
		return recode.Remux(ctx, f, &s.what.av().window, s.what.av().Bitstream, out.File, to)
	}); err != nil {
		return nil, err
	}
	return s.written(ctx, out)
}

// written is a file that is complete: its content where it has no name.
func (s *errands) written(ctx context.Context, out *recode.Output) (*result, error) {
	if s.what.av().To != "" {
		if err := out.Commit(); err != nil {
			return nil, err
		}
		return s.told(ctx, struct{}{})
	}
	var r *result
	err := out.Content(func(n int64) ([]byte, error) {
		slot, err := s.shelf.reserve(ctx, n)
		if err != nil {
			return nil, err
		}
		r = bytesResult(slot, int(n))
		return slot.Bytes()[:n], nil
	})
	if err != nil {
		r.drop()
		return nil, err
	}
	return r, nil
}
