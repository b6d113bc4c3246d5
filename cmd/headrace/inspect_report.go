package main

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/recipe"
	"github.com/headrace/headrace/sample"
)

// inspect finds out all that can be known of a recipe, and how its first samples fare.
// Where it cannot be run, the inspection says what is known all the same.
func inspect(ctx context.Context, f recipe.File, c headrace.Config, samples int) (inspection, error) {
	r := f.Recipe.Complete()
	i := inspection{File: f.Name, Recipe: r, Loader: c, Variables: []inspectedVariable{}, Samples: []inspectedSample{},
		Functions: append([]string{}, r.Functions()...)}
	for _, v := range f.Vars {
		i.Variables = append(i.Variables, inspectedVariable{v.Name, v.Value, v.From})
	}

	schemas, err := r.Schemas()
	if err != nil {
		return i, f.Locate(err)
	}
	i.Steps = inspectSteps(r, schemas)
	i.Called = samples > 0 && len(i.Functions) > 0

	loader, err := headrace.Open(ctx, r, c, headrace.Options{Look: samples == 0})
	if errors.Is(err, headrace.ErrUncalled) {
		return i, nil
	}
	if err != nil {
		return i, f.Locate(err)
	}

	i.Recipe = loader.Recipe()
	if schemas, err = i.Recipe.Schemas(); err == nil { // which may not have been known
		i.Steps = inspectSteps(i.Recipe, schemas)
	}
	i.Engine = inspectEngine(loader)
	i.place()

	err = loader.Close()
	if samples > 0 && err == nil {
		i.Samples, err = inspectSamples(ctx, r, c, i.Engine.Classes, samples)
	}
	return i, err
}

// inspectSteps tells of each step of the tree, in the order of the text, what it reads
// and gives.
func inspectSteps(r recipe.Recipe, schemas []sample.Schema) []inspectedStep {
	w := stepWalker{schemas: schemas}
	w.chain(r.Steps, []string{})
	return w.all
}

type stepWalker struct {
	schemas []sample.Schema
	all     []inspectedStep
}

// chain tells of the steps of a chain, of which the first reads those in from, and
// returns those that whatever follows it reads.
func (w *stepWalker) chain(steps []recipe.Step, from []string) []string {
	for _, s := range steps {
		k := len(w.all)
		w.all = append(w.all, inspectedStep{Name: s.Name, Op: s.Op, Text: stepText(s), From: from,
			Out: schemaFields(w.schemas[k]), out: w.schemas[k]})
		from = []string{s.Name}
		t := recipe.TraitsOf(s.Args)
		var ends []string
		for _, c := range recipe.ChainsOf(s.Args) {
			if t.Merging != nil {
				w.all[k].From = append(w.all[k].From, w.chain(c, []string{})...)
				continue
			}
			for _, end := range w.chain(c, []string{s.Name}) {
				if !slices.Contains(ends, end) {
					ends = append(ends, end)
				}
			}
		}
		if t.Routing != nil {
			from = ends
		}
	}
	return from
}

// stepText is like "resize(size=256)", without the steps that it holds.
func stepText(s recipe.Step) string {
	text, _, _ := strings.Cut(recipe.Recipe{Steps: []recipe.Step{s}}.String(), "\n")
	return text
}

func schemaFields(s sample.Schema) []headrace.Field {
	all := make([]headrace.Field, len(s))
	for i, f := range s {
		all[i] = headrace.Field{Name: f.Name, Kind: f.Type.Kind, DType: f.Type.DType, Shape: f.Type.Shape, Logical: f.Type.Logical}
	}
	return all
}

func inspectEngine(l *headrace.Loader) *inspectedEngine {
	info, memory := l.Info(), l.Stats().Memory
	e := &inspectedEngine{
		Stages: info.Stages, Fields: info.Fields, Samples: info.Samples, SamplesPerEpoch: info.SamplesPerEpoch,
		BatchesPerEpoch: info.BatchesPerEpoch,
		Exact:           info.Exact, Grouped: info.Grouped, Epochs: info.Epochs, Classes: append([]recipe.Path{},
			info.Classes...), Rows: info.Rows, Whole: info.Whole, BatchBytes: int64(info.SlotBytes),
		Slots: memory.Batches.Slots, Workers: info.Workers, Memory: memory.Limit, HoldLimit: info.HoldLimit, Decoder: info.Decoder,
	}
	for _, f := range e.Fields {
		e.SampleBytes += rowBytes(f)
	}
	return e
}

// rowBytes is what a field takes in the batch's memory: text takes none, it travels
// beside it.
func rowBytes(f headrace.Field) int64 {
	if f.Kind != sample.Tensor {
		return 0
	}
	n, err := f.Shape.Bytes(f.DType)
	if err != nil {
		return 0 // not of a field that can be batched
	}
	return n
}

// place says of every step which stage carries it out.
func (i *inspection) place() {
	for _, stage := range i.Engine.Stages {
		for _, name := range stage.Steps {
			for k := range i.Steps {
				if i.Steps[k].Name == name {
					i.Steps[k].Stage = stage.Name
				}
			}
		}
	}
}
