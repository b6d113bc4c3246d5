//go:build cgo

// Command entropy compares how long the entropy-coded data of JPEG images take
// media/jpeg and libjpeg: CPU seconds of one thread, which takes turns with the images.
//
//	go run ./bench/entropy [-rounds 9] FILE…
//
// Both decode all coefficients. libjpeg keeps those of the whole image, as there is no
// other way to stop before its inverse transform; media/jpeg passes over them, as over
// MCUs that nothing needs.
//
// LD_PRELOAD=/path/to/libjpeg.so puts another release of libjpeg in place of the one that
// was linked.
package main

// #cgo LDFLAGS: -ljpeg
// #include "libjpeg.h"
import "C"

import (
	"flag"
	"fmt"
	"os"
	"runtime"
	"slices"
	"unsafe"

	"github.com/headrace/headrace/media/jpeg"
)

func main() {
	rounds := flag.Int("rounds", 9, "how often all files are decoded")
	flag.Parse()
	if err := run(flag.Args(), *rounds); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(files []string, rounds int) error {
	runtime.LockOSThread()
	var ours, theirs, ratios []float64
	images := 0
	for round := range rounds + 1 {
		a, b := 0.0, 0.0
		images = 0
		for _, name := range files {
			data, err := os.ReadFile(name)
			if err != nil {
				return err
			}
			begun := C.thread_seconds()
			if !jpeg.PassOver(data) {
				continue // nobody's time counts
			}
			between := C.thread_seconds()
			if C.libjpeg_coefficients((*C.uchar)(unsafe.SliceData(data)), C.size_t(len(data))) == 0 {
				return fmt.Errorf("%s: libjpeg cannot read it", name)
			}
			a += float64(between - begun)
			b += float64(C.thread_seconds() - between)
			images++
		}
		if round == 0 {
			continue // caches and tables
		}
		ours, theirs, ratios = append(ours, a), append(theirs, b), append(ratios, b/a)
	}
	fmt.Printf("%d of %d images\n", images, len(files))
	for name, all := range map[string][]float64{"media/jpeg": ours, "libjpeg": theirs} {
		slices.Sort(all)
		fmt.Printf("%-10s %.3f CPU s per 1,000 [%.3f–%.3f]\n", name, per1000(all[len(all)/2], images),
			per1000(all[0], images), per1000(all[len(all)-1], images))
	}
	slices.Sort(ratios)
	fmt.Printf("%.2f times [%.2f–%.2f]\n", ratios[len(ratios)/2], ratios[0], ratios[len(ratios)-1])
	return nil
}

func per1000(seconds float64, images int) float64 { return seconds / float64(images) * 1000 }
