// Package headrace turns a recipe into a running loader: it reads samples from where they
// are, decodes and transforms them with every core, and gives finished batches in shared
// memory.
//
//	file, err := recipe.ReadFile("train.yaml", recipe.Variables{})
//	loader, err := headrace.Open(ctx, file.Recipe, headrace.Config{}, headrace.Options{})
//	defer loader.Close()
//	err = loader.Start(loader.Info().State, nil)
//	for epoch := range 10 {
//		for batch, err := range loader.All(ctx) {
//			if err != nil { … what stopped the run }
//			pixels, _ := batch.Tensor("image")
//			…
//			saved = loader.State() // for Start, in this process or another
//			batch.Release()
//		}
//	}
//
// Python programs reach it through package serve and a process of its own.
//
// # Reading
//
// assemble.go puts the rooms together, and loader.go is the life of a run. The rooms are
// internal/source, where records come from, op, what steps do to them,
// internal/batch, how they become rows, and internal/compile, which makes a pipeline of
// all of it. docs/architecture.md follows one sample through them.
//
// # Operations of one's own
//
// See [Operation] and [Register].
//
// # Concurrency
//
// See [Loader].
//
// # Testing
//
// Against plain sequential loops over the same files, cut and resumed at every batch;
// pixels are tested in package media and in Python, against Pillow and torchvision.
package headrace

import _ "github.com/headrace/headrace/media/stills" // every program that runs a recipe can decode all formats, whatever else it links
