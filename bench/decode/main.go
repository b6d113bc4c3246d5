// Command decode decodes the images of a list one after the other, on one thread and
// with no engine around it.
//
//	decode [-work whole|val|train] [-mode exact|fast] [-go] [-passes N] LIST
//
// prints one line of JSON: how many images a second, and the CPU time. The files are
// read before the clock starts.
//
//	decode -pixels … LIST
//
// writes the pixels instead: for each image a line of JSON that says what was done to
// it, and then its bytes.
package main

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"syscall"
	"time"
)

var (
	work = flag.String("work", "whole", "whole; val: shorter side to 256, centre 224 × 224; "+
		"train: random resized crop of 224 × 224, flip")
	mode   = flag.String("mode", "exact", "exact or fast")
	plain  = flag.Bool("go", false, "decode with the decoder of Go's standard library")
	passes = flag.Int("passes", 1, "how many times the list is gone through")
	pixels = flag.Bool("pixels", false, "write the pixels to standard output")
)

func main() {
	flag.Parse()
	if err := run(os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "decode:", err)
		os.Exit(1)
	}
}

func run(w io.Writer) error {
	p, err := newPictures(*work, *mode, *plain)
	if err != nil {
		return err
	}
	files, err := readFiles(flag.Arg(0))
	if err != nil {
		return err
	}
	runtime.LockOSThread()
	if *pixels {
		return write(w, p, files)
	}
	return measure(w, p, files)
}

// write writes all images with what was done to them.
func write(w io.Writer, p *pictures, files [][]byte) error {
	out := bufio.NewWriterSize(w, 1<<20)
	encoder := json.NewEncoder(out)
	for i, data := range files {
		done, err := p.decode(i, data)
		if err != nil {
			return fmt.Errorf("image %d: %w", i, err)
		}
		if err := encoder.Encode(done); err != nil {
			return err
		}
		if _, err := out.Write(p.pixels); err != nil {
			return err
		}
	}
	return out.Flush()
}

// measure decodes all images, once before the clock starts.
func measure(w io.Writer, p *pictures, files [][]byte) error {
	var total struct {
		Images    int     `json:"images"`
		Rate      float64 `json:"images_per_s"`
		CPU       float64 `json:"cpu_s_per_1k"`
		Megapixel float64 `json:"megapixels_per_s"`
		Decoder   string  `json:"decoder"`
	}
	var begun time.Time
	var used float64
	for pass := -1; pass < *passes; pass++ {
		if pass == 0 {
			begun, used = time.Now(), cpuSeconds()
		}
		for i, data := range files {
			done, err := p.decode(i, data)
			if err != nil {
				return fmt.Errorf("image %d: %w", i, err)
			}
			if pass >= 0 {
				total.Images++
				total.Megapixel += float64(done.Width*done.Height) / 1e6
				total.Decoder = done.Decoder
			}
		}
	}
	took := time.Since(begun).Seconds()
	total.Rate = float64(total.Images) / took
	total.CPU = (cpuSeconds() - used) / float64(total.Images) * 1000
	total.Megapixel /= took
	return json.NewEncoder(w).Encode(total)
}

func cpuSeconds() float64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e9
}

func readFiles(list string) ([][]byte, error) {
	names, err := os.ReadFile(list)
	if err != nil {
		return nil, err
	}
	var files [][]byte
	for _, name := range strings.Fields(string(names)) {
		data, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		files = append(files, data)
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("no files in %s", list)
	}
	return files, nil
}
