// Command augment does one step of a recipe to one image, again and again, on one thread
// and with no engine around it.
//
//	augment [-go] WIDTH HEIGHT
//
// reads the pixels of an RGB image from standard input, and then lines: a step as
// recipes have it. For each it prints the least CPU time of a call in milliseconds, of
// several repetitions; what the step draws is another in each call, and drawing is part
// of the time.
package main

import (
	"bufio"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"runtime"
	"strconv"
	"syscall"
	"time"

	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/recipe"
	"github.com/headrace/headrace/tensor"

	_ "github.com/headrace/headrace/op"
)

var plain = flag.Bool("go", false, "without C")

func main() {
	flag.Parse()
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "augment:", err)
		os.Exit(1)
	}
}

func run() error {
	runtime.LockOSThread()
	width, err := strconv.Atoi(flag.Arg(0))
	if err != nil {
		return err
	}
	height, err := strconv.Atoi(flag.Arg(1))
	if err != nil {
		return err
	}
	in := bufio.NewReader(os.Stdin)
	image := media.Pixels{Width: width, Height: height, Stride: 3 * width, Color: media.RGB, DType: tensor.Uint8}
	image.Data = make([]byte, image.Stride*height+media.Slack)
	if _, err := io.ReadFull(in, image.Data[:image.Stride*height]); err != nil {
		return err
	}

	for { // a step on each line
		line, err := in.ReadBytes('\n')
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		op, err := step(line)
		if err != nil {
			return err
		}
		least, err := measure(op, image)
		if err != nil {
			return fmt.Errorf("%s: %w", line, err)
		}
		fmt.Printf("%.5f\n", least)
	}
}

// step is the operation of a step of a recipe.
func step(line []byte) (media.Op, error) {
	doc := fmt.Sprintf(`{"headrace": 1, "steps": [{"files": {"paths": ["x"]}}, "decode_image", %s]}`, line)
	r, err := recipe.Parse([]byte(doc))
	if err != nil {
		return nil, err
	}
	return r.Complete().Steps[2].Args.(recipe.Transform).Transform(), nil
}

// measure takes the least time of several repetitions, each long enough for the clock.
func measure(op media.Op, image media.Pixels) (least float64, err error) {
	runner := media.CurrentRunner()
	if *plain {
		runner = media.GoRunner{}
	}
	const repetitions, enough = 9, 12 * time.Millisecond
	r := draws{rand.New(rand.NewPCG(1, 2))}
	var plan media.Plan
	var dst []byte

	// Each repetition is long enough for the clock.
	info, steps := media.Info{Width: image.Width, Height: image.Height}, []media.Step{{Op: op}}
	for n := 0; n < repetitions; {
		calls, start := 0, cpu()
		for calls == 0 || cpu()-start < enough {
			if err := media.MakePlan(info, media.Options{}, steps, r, &plan); err != nil {
				return 0, err
			}
			f := plan.Form()
			if need := f.RowBytes() * f.Height; cap(dst) < need {
				dst = make([]byte, need)
			}
			if err := runner.Run(dst[:cap(dst)], f.RowBytes(), image, &plan); err != nil {
				return 0, err
			}
			calls++
		}
		took := float64(cpu()-start) / float64(time.Millisecond) / float64(calls)
		if n++; n == 1 || took < least {
			least = took
		}
	}
	return least, nil
}

func cpu() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// draws are other numbers in each call.
type draws struct{ *rand.Rand }

func (d draws) Float64(uint64, uint32) float64 { return d.Rand.Float64() }
