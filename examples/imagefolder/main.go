// Command imagefolder resizes the images of a folder with every core, on the engine
// and the decoders alone (go run ./examples/imagefolder data/train).
package main

import (
	"context"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"runtime"

	"github.com/headrace/headrace/media"
	_ "github.com/headrace/headrace/media/stills" // PNG, WebP, GIF, BMP and TIFF in Go; JPEG is there anyway
	"github.com/headrace/headrace/pipe"
)

type paths []string

// Items is the source: the paths, from a position on.
func (p paths) Items(_ context.Context, _ int, pos int64) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		for i := pos; i < int64(len(p)) && yield(p[i], nil); i++ {
		}
	}
}

func load(_ context.Context, path string) (media.Pixels, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return media.Pixels{}, err
	}
	steps := []media.Step{{Op: media.Resize{Size: 256}}, {Op: media.CenterCrop{Height: 224, Width: 224}}}
	return media.Decode(data, media.Options{Orient: true}, steps, nil)
}

func run(folder string) error {
	files, _ := filepath.Glob(filepath.Join(folder, "*", "*"))
	images := pipe.Map(pipe.From("files", paths(files)), load, pipe.Opts{Name: "load", Workers: runtime.NumCPU(), Ordered: true})
	batches := pipe.Batch(images, 32, pipe.BatchOpts{Name: "batch"})
	run, err := pipe.Start(context.Background(), batches, pipe.Config{Failures: pipe.Policy{Skip: true, Rate: 0.01}})
	if err != nil {
		return err
	}
	defer run.Close()
	for batch, err := range run.All() {
		if err != nil {
			return err
		}
		fmt.Println(len(batch), "pictures of", batch[0].Form())
	}
	return nil
}

func main() {
	if err := run(filepath.Join(os.Args[1:]...)); err != nil {
		fmt.Fprintln(os.Stderr, "imagefolder:", err)
		os.Exit(1)
	}
}
