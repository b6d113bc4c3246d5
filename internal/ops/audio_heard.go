package ops

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"path/filepath"

	"headrace/internal/machine"
	"headrace/internal/record"
	"headrace/media/sound"
	"headrace/store"
	"headrace/tensor"
)

// WindowPort is where records have the seconds at which a window begins and ends. The
// zero value is nowhere.
type WindowPort struct {
	at record.Column
	is tensor.DType
}

// NewWindowPort is that of a column with two numbers.
func NewWindowPort(at record.Column, is tensor.DType) WindowPort { return WindowPort{at, is} }

// of reads the window of a record.
func (w WindowPort) of(it *record.Record) (begin, end float64) {
	data := it.Values.Arrays[w.at.At].Data
	if w.is == tensor.Float32 {
		number := func(i int) float64 { return float64(math.Float32frombits(binary.NativeEndian.Uint32(data[4*i:]))) }
		return number(0), number(1)
	}
	number := func(i int) float64 { return math.Float64frombits(binary.NativeEndian.Uint64(data[8*i:])) }
	return number(0), number(1)
}

// heardFile is a file of which a window is heard.
type heardFile struct{ store.File }

// Load implements [record.Opened]. The file is read by those who decode.
func (heardFile) Load() (int64, error) { return 0, nil }

// openHeard opens the file that a record names.
func (p *ReadAudio) openHeard(ctx context.Context, it *record.Record) error {
	it.Shut()
	it.HeaderErr = machine.Patiently(ctx, func() error {
		path := it.Values.Texts[p.From.At]
		if !filepath.IsAbs(path) {
			return fmt.Errorf("headrace: the path %q is relative: takes a path that begins with /", path)
		}
		f, err := store.Local{}.Open(path)
		if err != nil {
			return err
		}
		it.Opened = heardFile{f}
		return nil
	})
	return nil
}

// hear decodes what is heard in a record's window.
func (p *ReadAudio) hear(ctx context.Context, it *record.Record) error {
	if it.HeaderErr != nil && p.ByPath() {
		return it.HeaderErr
	}
	var file sound.File
	if p.ByPath() {
		file = it.Opened.(heardFile)
	} else {
		file = bytes.NewReader(it.Values.Bytes[p.From.At])
	}
	begin, end := p.Window.of(it)
	h, err := OpenHeard(file, begin, end, p.Args)
	if err != nil {
		return err
	}
	defer h.Close()

	a := arrangement{p.Args, int(h.Samples()), h.Channels()}
	data := *it.Values.Borrow(&p.Env.Images, a.Bytes())
	if err := a.fill(data, &p.Env.Images, func(all []float32) error { return h.Read(ctx, all) }); err != nil {
		return err
	}
	p.put(it, data, a.Shape())
	return nil
}

// foreseeHeard is Foresee of a window, by the rate that is asked for, or the usual one.
func (p *ReadAudio) foreseeHeard(it *record.Record) int64 {
	begin, end := p.Window.of(it)
	if p.Args.Duration != nil {
		end = begin + *p.Args.Duration
	}
	n := (end - begin) * float64(orElse(p.Args.Rate, 48000))
	if !(n > 0 && n < math.MaxInt32) {
		return 0
	}
	return 2 * 4 * int64(n) * int64(orElse(p.Args.Channels, 2))
}
