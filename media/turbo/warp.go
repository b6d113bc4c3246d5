//go:build cgo

package turbo

// #cgo noescape hr_warp_picture
// #cgo nocallback hr_warp_picture
// #cgo noescape hr_wave_field
// #cgo nocallback hr_wave_field
// #include "warp.h"
// #include "waves.h"
import "C"

import (
	"unsafe"

	"github.com/headrace/headrace/internal/scratch"
	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/tensor"
)

// warp resamples in to a stage's target within to, which is all of its result, and fills
// the rest: by kernels if there are some for it, or in Go.
func warp(stage *media.Stage, to, in media.Pixels) {
	w, ok := warpOf(stage, in)
	if !ok {
		stage.WarpInto(to, in)
		return
	}
	at := stage.Target()
	if at != (media.Rect{Width: to.Width, Height: to.Height}) {
		media.Border(to, at, stage.Fill)
	}
	if at == (media.Rect{}) {
		return
	}
	waves, memory := wavesOf(stage)
	if waves != nil {
		defer waveMemory.Give(memory)
		w.wave_width = C.int32_t(stage.Width)
	}
	C.hr_warp_picture(&w, waves, (*C.int16_t)(&media.CubicWeights()[0][0]), pointer(in.Data), C.ptrdiff_t(in.Stride),
		pointer(to.Data[at.Y*to.Stride+3*at.X:]), C.ptrdiff_t(to.Stride), C.int(at.Width), C.int(at.Height))
}

var waveMemory = scratch.Pool{Brief: true}

// wavesOf makes the waves of a stage's warp, in memory that is to be given back; nil if
// it has none.
func wavesOf(stage *media.Stage) (field *C.int16_t, memory *[]byte) {
	w := &stage.Warp.Waves
	if !w.On() {
		return nil, nil
	}
	across, down := media.WaveTaps(w.Sigma[0]), media.WaveTaps(w.Sigma[1])
	own := 2*stage.Width*stage.Height + C.HR_WAVE_BEYOND
	scratch := int(C.hr_wave_scratch(C.int(stage.Width), C.int(stage.Height), C.int(len(across))))
	memory = waveMemory.Take(2 * (own + scratch))
	all := unsafe.Slice((*C.int16_t)(unsafe.Pointer(unsafe.SliceData(*memory))), len(*memory)/2)
	C.hr_wave_field(C.uint64_t(w.Seed), taps(across), C.int(len(across)), taps(down), C.int(len(down)),
		C.int(stage.Width), C.int(stage.Height), &all[0], &all[own])
	return &all[0], memory
}

func taps(weights []int16) *C.int16_t { return (*C.int16_t)(unsafe.SliceData(weights)) }

var filters = map[media.Filter]C.int32_t{
	media.Bilinear: C.HR_WARP_BILINEAR, media.Nearest: C.HR_WARP_NEAREST, media.Bicubic: C.HR_WARP_BICUBIC,
}

// warpOf returns a stage's warp for C, if there are kernels for it.
func warpOf(stage *media.Stage, in media.Pixels) (w C.hr_warp, ok bool) {
	const most = 1<<15 - 1
	m := stage.Warp
	switch {
	case C.hr_warp_can(level()) == 0, in.Color != media.RGB, in.DType != tensor.Uint8,
		m.Of.Width > most, m.Of.Height > most, in.Height*in.Stride >= 1<<31:
		return w, false
	}
	for i, v := range m.Map {
		w._map[i] = C.double(v)
	}
	w.wave_x, w.wave_y = C.double(m.Waves.X), C.double(m.Waves.Y)
	w.affine, w.filter = flag(m.Map.Affine()), filters[m.Filter]
	w.width, w.height, w.left, w.top = C.int32_t(m.Of.Width), C.int32_t(m.Of.Height), C.int32_t(m.X), C.int32_t(m.Y)
	w.in_width, w.in_height = C.int32_t(in.Width), C.int32_t(in.Height)
	if f, is := m.Fixed(media.Size{Height: stage.Height, Width: stage.Width}); is {
		right, bottom := int64(stage.Width), int64(stage.Height)
		for _, at := range [...][2]int64{{0, 0}, {right, 0}, {0, bottom}, {right, bottom}} {
			for _, v := range [...]int64{f.X + at[0]*f.XByX + at[1]*f.XByY, f.Y + at[0]*f.YByX + at[1]*f.YByY} {
				if v >= 1<<31 || v < -1<<31 {
					return w, false
				}
			}
		}
		w.fixed, w.fixed_x, w.fixed_y = 1, C.int32_t(f.X), C.int32_t(f.Y)
		w.x_by_x, w.x_by_y, w.y_by_x, w.y_by_y = C.int32_t(f.XByX), C.int32_t(f.XByY), C.int32_t(f.YByX), C.int32_t(f.YByY)
	}

	g := stage.Grid()
	w.x, w.y, w.right_x, w.right_y = C.int32_t(g.X), C.int32_t(g.Y), C.int32_t(g.RightX), C.int32_t(g.RightY)
	w.down_x, w.down_y = C.int32_t(g.DownX), C.int32_t(g.DownY)
	for c := range w.fill {
		w.fill[c] = C.uint8_t(stage.Fill[c])
	}
	return w, true
}

func flag(is bool) C.int32_t {
	if is {
		return 1
	}
	return 0
}
