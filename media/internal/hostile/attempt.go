package hostile

import (
	"bytes"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"syscall"
	"time"

	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/tensor"
)

// A use is one thing that callers do with images.
type use struct {
	name    string
	options media.Options
	steps   []media.Step
}

var uses = []use{
	{"whole", media.Options{}, nil},
	{"validation", media.Options{Orient: true}, []media.Step{{Op: media.Resize{Size: 9}}, {Op: media.CenterCrop{Height: 8, Width: 8}}}},
	{"training", media.Options{Orient: true}, []media.Step{{Op: media.RandomResizedCrop{Height: 12, Width: 12}},
		{Op: media.RandomFlip{P: 0.5}}}},
	{"training, fast", media.Options{Orient: true, Mode: media.Fast},
		[]media.Step{{Op: media.RandomResizedCrop{Height: 6, Width: 6}}, {Op: media.RandomFlip{P: 0.5}}}},
	{"a corner, twice resized", media.Options{Orient: true, Mode: media.Fast}, []media.Step{
		{Op: media.RandomCrop{Height: 5, Width: 16}}, {Op: media.ResizeExact{Height: 30, Width: 5}}, {Op: media.Resize{Size: 3}}}},
	{"rgba", media.Options{Color: media.RGBA}, nil},
	{"rgba, 16 bits", media.Options{Color: media.RGBA, DType: tensor.Uint16}, []media.Step{{Op: media.ResizeExact{Height: 9, Width: 7}}}},
	{"grey", media.Options{Color: media.Gray, Orient: true}, []media.Step{{Op: media.CenterCrop{Height: 40, Width: 10}}}},
	{"background", media.Options{Background: &[3]uint8{255, 128, 0}}, nil},
	{"numbers in planes", media.Options{Orient: true}, []media.Step{
		{Op: media.Pad{Left: 3, Bottom: 20, Fill: [4]uint16{9, 8, 7}}}, {Op: media.Rotate90{Turns: 1}},
		{Op: media.RandomCrop{Height: 19, Width: 20}},
		{Op: media.ColorJitter{Brightness: [2]float64{0.5, 2}, Contrast: [2]float64{0.5, 2},
			Saturation: [2]float64{0, 2}, Hue: [2]float64{-0.5, 0.5}}},
		{Op: media.Normalize{Std: [3]float64{1, 2, 3}, DType: tensor.Float16}}, {Op: media.ToLayout{Layout: media.CHW}}}},
}

// draws give the same numbers always.
type draws struct{}

func (draws) Float64(step uint64, n uint32) float64 { return float64((step+uint64(n))%7) / 7 }

// attempt probes, plans and decodes. A decoder that is lied to gets what the header of
// another file said.
func attempt(d media.Decoder, data []byte, header *media.Info, u use) (media.Pixels, error) {
	var info media.Info
	if header != nil {
		info = *header
	} else {
		var err error
		if info, err = media.Probe(data); err != nil {
			return media.Pixels{}, err
		}
	}

	steps := slices.Clone(u.steps)
	for i := range steps {
		steps[i].ID = uint64(i)
	}
	var plan media.Plan
	if err := media.MakePlan(info, u.options, steps, draws{}, &plan); err != nil {
		return media.Pixels{}, err
	}

	const guard = 64 // bytes around the result
	p := media.Pixels{Width: plan.Width, Height: plan.Height, Color: plan.Color, DType: plan.Output.DType}
	row, rows := plan.Form().RowBytes(), plan.Height
	if plan.Output.Layout == media.CHW {
		rows *= plan.Color.Channels()
	}
	p.Stride = row + 3
	n := p.Stride*(rows-1) + row
	all := bytes.Repeat([]byte{0xA5}, guard+n+guard)
	p.Data = all[guard : guard+n : guard+n]

	before := bytes.Clone(data)
	if err := d.DecodeInto(p.Data, p.Stride, data, &info, &plan); err != nil {
		return media.Pixels{}, err
	}

	if !bytes.Equal(before, data) {
		return p, errors.New("the decoder wrote into its source")
	}
	for i, b := range all {
		if at := i - guard; (at < 0 || at >= n || at%p.Stride >= row) && b != 0xA5 {
			return p, fmt.Errorf("the decoder wrote to byte %d of rows of %d bytes, %d apart", at, row, p.Stride)
		}
	}
	return p, nil
}

// kinds are what is wrong with an image, as far as callers can tell.
var kinds = []error{media.ErrFormat, media.ErrTruncated, media.ErrCorrupt, media.ErrTooLarge, media.ErrUnsupported, media.ErrGeometry}

// kindsOf counts the kinds that an error is of.
func kindsOf(err error) (n int) {
	for _, kind := range kinds {
		if errors.Is(err, kind) {
			n++
		}
	}
	return n
}

// misbehaviour is how a decoder deals with a file, if not as it should: twice the same,
// in time.
func misbehaviour(d media.Decoder, data []byte, header *media.Info, u use) (p media.Pixels, bad string, err error) {
	took := threadTime(func() { p, err = attempt(d, data, header, u) })
	if n := kindsOf(err); err != nil && n != 1 {
		return p, fmt.Sprintf("the error is of %d of media's kinds: %v", n, err), err
	}
	if limit := patience(data, header); took > limit {
		return p, fmt.Sprintf("took %v, more than %v; %v", took, limit, err), err
	}
	again, errAgain := attempt(d, data, header, u)
	if fmt.Sprint(err) != fmt.Sprint(errAgain) || !bytes.Equal(p.Data, again.Data) {
		return p, fmt.Sprintf("another time another result: %v, %v", err, errAgain), err
	}
	return p, "", err
}

// patience is ten times what decoding may take by its size, of a CPU that is a
// slow one.
func patience(data []byte, header *media.Info) time.Duration {
	info, err := media.Probe(data)
	if header != nil {
		info = *header
	}
	limit := 20*time.Millisecond + time.Duration(len(data))*2*time.Microsecond
	if err == nil || header != nil {
		limit += time.Duration(info.Width) * time.Duration(info.Height) * 200 * time.Nanosecond
	}
	return 10 * slowness * limit
}

// threadTime is the CPU time that f takes of its thread: it does not grow while
// others have the CPU.
func threadTime(f func()) time.Duration {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	began := usedByThread()
	f()
	return usedByThread() - began
}

func usedByThread() time.Duration {
	const thisThread = 1
	var u syscall.Rusage
	if err := syscall.Getrusage(thisThread, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
