//go:build cgo

package fast

// #cgo CFLAGS: -O3 -Wall -Wno-psabi
// #cgo noescape hr_sound_run
// #cgo nocallback hr_sound_run
// #cgo noescape hr_sound_mean
// #cgo nocallback hr_sound_mean
// #include "run.h"
import "C"

import (
	"runtime"
	"unsafe"

	"golang.org/x/sys/cpu"

	"github.com/headrace/headrace/media/sound"
)

func init() { sound.Use(run, mean) }

// wide tells whether the CPU has AVX2. Tests set it.
var wide = cpu.X86.HasAVX2

// mean is sound.Mean in C.
func mean(to, pairs []float32) {
	C.hr_sound_mean((*C.float)(unsafe.SliceData(to)), (*C.float)(unsafe.SliceData(pairs[:2*len(to)])), C.int64_t(len(to)))
}

// run is sound.Plain in C.
func run(to, in, sets []float32, p sound.Places) {
	count := (len(to) + p.Stride - 1) / p.Stride
	if count == 0 {
		return
	}

	// C reads what the places say, and nobody there holds it against the slices.
	begin, _ := p.At(0)
	end, _ := p.At(count - 1)
	_, _ = in[begin:end+p.Taps], sets[:p.Up*p.Taps]

	var pins runtime.Pinner
	defer pins.Unpin()
	pins.Pin(&sets[0])
	f := C.hr_filter{sets: (*C.float)(unsafe.SliceData(sets)), up: C.int64_t(p.Up), down: C.int64_t(p.Down),
		before: C.int64_t(p.Before), taps: C.int64_t(p.Taps)}
	avx2 := C.int(0)
	if wide {
		avx2 = 1
	}
	C.hr_sound_run((*C.float)(unsafe.SliceData(to)), (*C.float)(unsafe.SliceData(in)), f, C.int64_t(p.N),
		C.int64_t(p.First), C.int64_t(count), C.int64_t(p.Stride), avx2)
}
