//go:build cgo

package turbo

import (
	"bufio"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/tensor"
)

// BenchmarkFiles reads, decodes and resizes the files of a list, once each per
// iteration, as an epoch does but with nobody to hand the pixels to.
// HEADRACE_BENCH_FILES names the list; without it there is nothing to measure.
func BenchmarkFiles(b *testing.B) {
	files := benchFiles(b)
	for _, c := range []struct {
		name string
		job  job
	}{
		{"val", job{steps: valSteps}}, {"val fast", job{steps: valSteps, mode: media.Fast}},
		{"train", job{steps: trainSteps}}, {"train fast", job{steps: trainSteps, mode: media.Fast}},
		{"val float32", job{steps: append(valSteps[:2:2], floats...)}},
	} {
		for _, workers := range []int{1, 2} {
			b.Run(fmt.Sprintf("%s/%d", c.name, workers), func(b *testing.B) {
				before := cpu()
				for b.Loop() {
					epoch(b, files, c.job, workers)
				}
				images := float64(len(files) * b.N)
				b.ReportMetric(images/b.Elapsed().Seconds(), "images/s")
				b.ReportMetric((cpu()-before)/images*1000, "cpu-s/1k")
			})
		}
	}
}

func benchFiles(b *testing.B) []string {
	list, err := os.Open(os.Getenv("HEADRACE_BENCH_FILES"))
	if err != nil {
		b.Skip("HEADRACE_BENCH_FILES does not name a list of JPEG files")
	}
	defer list.Close()
	var files []string
	for s := bufio.NewScanner(list); s.Scan(); {
		path := s.Text()
		if !filepath.IsAbs(path) {
			path = filepath.Join(filepath.Dir(list.Name()), path)
		}
		files = append(files, path)
	}
	return files
}

// job is what is done to every image.
type job struct {
	steps []media.Step
	mode  media.Mode
}

func epoch(b *testing.B, files []string, j job, workers int) {
	var next atomic.Int64
	var group sync.WaitGroup
	for range workers {
		group.Go(func() {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			var w worker
			for i := next.Add(1) - 1; i < int64(len(files)); i = next.Add(1) - 1 {
				if err := w.image(files[i], j, uint64(i)); err != nil {
					b.Errorf("%s: %v", files[i], err)
				}
			}
		})
	}
	group.Wait()
}

// cpu is the time that all threads have computed, in seconds.
func cpu() float64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e9
}

type worker struct {
	data []byte
	dst  [224 * 224 * 3 * 4]byte
	plan media.Plan
	rand keyed
}

var (
	valSteps   = []media.Step{{Op: media.Resize{Size: 256}}, {Op: media.CenterCrop{Height: 224, Width: 224}}}
	trainSteps = []media.Step{{Op: media.RandomResizedCrop{Height: 224, Width: 224}}, {Op: media.RandomFlip{P: 0.5}, ID: 1}}
	floats     = []media.Step{
		{Op: media.Normalize{Mean: [3]float64{0.485, 0.456, 0.406}, Std: [3]float64{0.229, 0.224, 0.225}, DType: tensor.Float32}},
		{Op: media.ToLayout{Layout: media.CHW}},
	}
)

func (w *worker) image(path string, j job, key uint64) error {
	if err := w.read(path); err != nil {
		return err
	}
	info, err := media.Probe(w.data)
	if err != nil {
		return err
	}
	w.rand.sample = key
	if err := media.MakePlan(info, media.Options{Orient: true, Mode: j.mode}, j.steps, &w.rand, &w.plan); err != nil {
		return err
	}
	return Decoder{}.DecodeInto(w.dst[:], w.plan.Form().RowBytes(), w.data, &info, &w.plan)
}

func (w *worker) read(path string) error {
	fd, err := syscall.Open(path, syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer syscall.Close(fd)
	var st syscall.Stat_t
	if err := syscall.Fstat(fd, &st); err != nil {
		return err
	}
	if int64(cap(w.data)) < st.Size {
		w.data = make([]byte, st.Size*2)
	}
	w.data = w.data[:st.Size]
	n, err := syscall.Read(fd, w.data)
	w.data = w.data[:max(n, 0)]
	return err
}

// keyed is a media.Rand that is a function of its arguments.
type keyed struct{ sample uint64 }

func (k *keyed) Float64(op uint64, draw uint32) float64 {
	return rand.New(rand.NewPCG(k.sample, op<<32|uint64(draw))).Float64()
}
