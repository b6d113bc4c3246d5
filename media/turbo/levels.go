//go:build cgo

package turbo

// #cgo noescape hr_count_levels
// #cgo nocallback hr_count_levels
// #cgo noescape hr_ends_of_levels
// #cgo nocallback hr_ends_of_levels
// #cgo noescape hr_tables_picture
// #cgo nocallback hr_tables_picture
// #include "levels.h"
// #include "adjust.h"
import "C"

import (
	"unsafe"

	"github.com/headrace/headrace/media"
)

func init() {
	kernels["equalize"] = func(s *media.Pass, p media.Pixels) media.Pixels { return levels3(s, p, counted) }
	kernels["autocontrast"] = func(s *media.Pass, p media.Pixels) media.Pixels { return levels3(s, p, ended) }
}

// counts has how often each channel has each value.
type counts [3][256]int

// counted counts all values.
func counted(p media.Pixels, all *counts) {
	var n [3][256]C.uint32_t
	C.hr_count_levels(&n[0], (*C.uint8_t)(&p.Data[0]), C.int(p.Color.Channels()), C.int(p.Width), C.int(p.Height), C.ptrdiff_t(p.Stride))
	for c := range n {
		for v, count := range n[c] {
			all[c][v] = int(count)
		}
	}
}

// ended counts the least and the greatest values alone, for effects to which others do
// not matter.
func ended(p media.Pixels, all *counts) {
	var least, greatest [3]C.uint8_t
	C.hr_ends_of_levels(level(), &least[0], &greatest[0], (*C.uint8_t)(&p.Data[0]), C.int(p.Color.Channels()),
		C.int(p.Width), C.int(p.Height), C.ptrdiff_t(p.Stride))
	for c := range all {
		all[c][least[c]], all[c][greatest[c]] = 1, 1
	}
}

// levels3 gives the values of each channel those of a table, which the effect makes.
func levels3(s *media.Pass, p media.Pixels, count func(media.Pixels, *counts)) media.Pixels {
	var all counts
	var tables [3]media.Table
	count(p, &all)
	changes := false
	for c := range min(p.Color.Channels(), 3) {
		if s.Effect.Levels(&all[c], &tables[c]) {
			changes = true
			continue
		}
		for v := range tables[c] {
			tables[c][v] = uint8(v)
		}
	}
	if changes {
		C.hr_tables_picture(level(), (*[256]C.uint8_t)(unsafe.Pointer(&tables[0])), (*C.uint8_t)(&p.Data[0]), C.int(p.Color.Channels()),
			C.int(p.Width), C.int(p.Height), C.ptrdiff_t(p.Stride))
	}
	return p
}
