// Command imagefolder resizes all pictures of a folder's folders, with every core, and gives them in batches: on the engine and the decoders alone.
//
//	go run ./examples/imagefolder data/train
package main

import (
	"context"
	"fmt"
	"iter"
	"log"
	"os"
	"path/filepath"
	"runtime"

	"headrace/media"
	_ "headrace/media/stills" // PNG, WebP, GIF, BMP and TIFF in Go; JPEG is there anyway
	"headrace/pipe"
)

type paths []string

// Items is the source: the paths, from a position on.
func (p paths) Items(_ context.Context, _ int, pos int64) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		for i := pos; i < int64(len(p)) && yield(p[i], nil); i++ {
		}
	}
}

var steps = []media.Step{{Op: media.Resize{Size: 256}}, {Op: media.CenterCrop{Height: 224, Width: 224}}}

func load(_ context.Context, path string) (media.Pixels, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return media.Pixels{}, err
	}
	return media.Decode(data, media.Options{Orient: true}, steps, nil)
}

func main() {
	files, _ := filepath.Glob(filepath.Join(os.Args[1], "*", "*"))
	images := pipe.Map(pipe.From("files", paths(files)), load, pipe.Opts{Name: "load", Workers: runtime.NumCPU(), Ordered: true})
	batches := pipe.Batch(images, 32, pipe.BatchOpts{Name: "batch"})
	run, err := pipe.Start(context.Background(), batches, pipe.Config{Failures: pipe.Policy{Skip: true, Rate: 0.01}})
	if err != nil {
		log.Fatal(err)
	}
	defer run.Close()
	for batch, err := range run.All() {
		if err != nil {
			log.Panic(err)
		}
		fmt.Println(len(batch), "pictures of", batch[0].Form())
	}
}
