//go:build cgo

package turbo

// #cgo noescape hr_adjust_picture
// #cgo nocallback hr_adjust_picture
// #cgo noescape hr_adjust_picture16
// #cgo nocallback hr_adjust_picture16
// #cgo noescape hr_table_picture
// #cgo nocallback hr_table_picture
// #cgo noescape hr_output_set
// #cgo nocallback hr_output_set
// #cgo noescape hr_output_picture
// #cgo nocallback hr_output_picture
// #include "adjust.h"
// #include "output.h"
import "C"

import (
	"unsafe"

	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/tensor"
)

// Lists of changes are passed to C as they are.
var (
	_ [unsafe.Sizeof(C.hr_adjust{})]byte          = [unsafe.Sizeof(media.Adjust{})]byte{}
	_ [unsafe.Offsetof(C.hr_adjust{}.factor)]byte = [unsafe.Offsetof(media.Adjust{}.Factor)]byte{}
)

// mostAdjusts is how many changes of colours go to C at once.
const mostAdjusts = 16

// carryOut does passes to pixels, in place: those in a row that are changes of colours
// in one call of C, and others by their kernels, or in Go if they have none.
func carryOut(passes []media.Pass, p media.Pixels) media.Pixels {
	var list [mostAdjusts]media.Adjust
	for len(passes) > 0 {
		if n := media.CountTables(passes); n > 0 && !areAdjusts(passes[:n]) {
			table := media.JoinTables(passes[:n])
			lookUp(&table, p)
			passes = passes[n:]
			continue
		}
		n := 0
		for n < min(len(passes), mostAdjusts) {
			a, is := passes[n].Adjust()
			if !is {
				break
			}
			list[n] = a
			n++
		}
		if n > 0 {
			p, passes = adjust(list[:n], p), passes[n:]
			continue
		}
		if kernel := kernels[passes[0].Effect.Name]; kernel != nil {
			p = kernel(&passes[0], p)
		} else {
			p = passes[0].Effect.Apply(&passes[0].Args, p)
		}
		passes = passes[1:]
	}
	return p
}

// areAdjusts reports whether all of some passes are changes of colours, which C makes
// with others row by row.
func areAdjusts(passes []media.Pass) bool {
	for i := range passes {
		if _, is := passes[i].Adjust(); !is {
			return false
		}
	}
	return true
}

// lookUp gives each value but alpha that of a table.
func lookUp(table *media.Table, p media.Pixels) {
	C.hr_table_picture(level(), (*C.uint8_t)(&table[0]), (*C.uint8_t)(&p.Data[0]), C.int(p.Color.Channels()),
		C.int(p.Width), C.int(p.Height), C.ptrdiff_t(p.Stride))
}

// kernels are faster ways to what effects define, by their names. A file of this package
// for each adds its own when the program begins.
var kernels = map[string]func(s *media.Pass, p media.Pixels) media.Pixels{}

// adjust does to pixels, in place, what [media.Adjust.Apply] does for one change after
// the other.
func adjust(list []media.Adjust, p media.Pixels) media.Pixels {
	if len(list) == 0 {
		return p
	}
	at, n := (*C.hr_adjust)(unsafe.Pointer(&list[0])), C.int(len(list))
	data, channels := (*C.uint8_t)(&p.Data[0]), C.int(p.Color.Channels())
	width, height, stride := C.int(p.Width), C.int(p.Height), C.ptrdiff_t(p.Stride)
	if p.DType == tensor.Uint16 {
		C.hr_adjust_picture16(at, n, data, channels, width, height, stride)
	} else {
		C.hr_adjust_picture(level(), at, n, data, channels, width, height, stride)
	}
	for _, a := range list {
		if a.Kind == media.ToGray {
			p.Color = media.Gray
		}
	}
	return p
}

// prepared is what is worked out once for an output.
type prepared struct{ c C.hr_output }

// write does what [media.Output.Write] does, and takes for granted that it would return
// no error.
func write(to *prepared, o *media.Output, dst []byte, stride int, p media.Pixels) {
	form := outputForm(o, p.Color, p.DType)
	C.hr_output_set(&to.c, level(), &form)
	C.hr_output_picture(&to.c, (*C.uint8_t)(&p.Data[0]), C.ptrdiff_t(p.Stride), C.int(p.Width), C.int(p.Height),
		(*C.uint8_t)(&dst[0]), C.ptrdiff_t(stride))
}

// outputForm says in C what o makes of pixels.
func outputForm(o *media.Output, color media.Color, from tensor.DType) C.hr_output_form {
	types := [...]C.int32_t{
		tensor.Uint8: C.HR_UINT8, tensor.Uint16: C.HR_UINT16,
		tensor.Float32: C.HR_FLOAT32, tensor.Float16: C.HR_FLOAT16, tensor.BFloat16: C.HR_BFLOAT16,
	}
	f := C.hr_output_form{from: types[from], to: types[o.DType], channels: C.int32_t(color.Channels()), planar: C.int32_t(o.Layout)}
	for c := range 3 {
		f.mean[c], f.std[c] = C.float(o.Mean[c]), C.float(o.Std[c])
	}
	return f
}
