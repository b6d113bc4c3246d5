package main

import (
	"context"

	"headrace"
	"headrace/recipe"
	"headrace/sample"
)

// inspection is all that inspect tells. Its JSON form is stated in docs/guide/bench-and-inspect.md.
type inspection struct {
	File      string              `json:"file"`
	Recipe    recipe.Recipe       `json:"recipe"`
	Loader    headrace.Config     `json:"loader"`
	Variables []inspectedVariable `json:"variables"`
	Steps     []inspectedStep     `json:"steps"`
	Engine    *inspectedEngine    `json:"engine"`  // nil: the source cannot be listed, or the recipe is not complete
	Samples   []inspectedSample   `json:"samples"` // in the order of the first epoch
}

// inspectedVariable is what was put in the place of a ${name}.
type inspectedVariable struct {
	Name  string `json:"name"`
	Value string `json:"value"`
	From  string `json:"from"`
}

// inspectedStep is a step of the recipe with the edge behind it.
type inspectedStep struct {
	Name  string           `json:"name"`
	Op    string           `json:"op"`
	Text  string           `json:"text"` // with the arguments that differ from their defaults
	From  []string         `json:"from"`
	Stage string           `json:"stage,omitempty"` // the stage that carries it out
	Out   []headrace.Field `json:"out"`             // of one sample; an extent of -1 differs from sample to sample

	out sample.Schema
}

// inspectedEngine is what the engine makes of the recipe.
type inspectedEngine struct {
	Stages          []headrace.Stage `json:"stages"`
	Fields          []headrace.Field `json:"fields"` // of a row of a batch
	Samples         int64            `json:"samples"`
	SamplesPerEpoch int64            `json:"samples_per_epoch"`
	BatchesPerEpoch int64            `json:"batches_per_epoch"`
	Exact           bool             `json:"exact"`
	Epochs          *int             `json:"epochs"`
	Classes         []recipe.Path    `json:"classes"`
	Rows            int              `json:"rows"`
	SampleBytes     int64            `json:"sample_bytes"` // in a batch
	BatchBytes      int64            `json:"batch_bytes"`
	Slots           int              `json:"slots"`
	Workers         int              `json:"workers"`
	Memory          int64            `json:"memory"`
	HoldLimit       int64            `json:"hold_limit"`
	Decoder         string           `json:"decoder"`
}

// inspect finds out all that can be known of a recipe, and how its first samples fare. Where it cannot be run, the inspection says what is
// known all the same.
func inspect(ctx context.Context, f recipe.File, c headrace.Config, samples int) (inspection, error) {
	r := f.Recipe.Complete()
	i := inspection{File: f.Name, Recipe: r, Loader: c, Variables: []inspectedVariable{}, Samples: []inspectedSample{}}
	for _, v := range f.Vars {
		i.Variables = append(i.Variables, inspectedVariable{v.Name, v.Value, v.From})
	}
	schemas, err := r.Schemas()
	if err != nil {
		return i, f.Locate(err)
	}
	i.Steps = inspectSteps(r, schemas)
	loader, err := headrace.Open(ctx, r, c, headrace.Options{})
	if err != nil {
		return i, f.Locate(err)
	}
	i.Engine = inspectEngine(loader)
	i.place()
	err = loader.Close()
	if samples > 0 && err == nil {
		i.Samples, err = inspectSamples(ctx, r, c, i.Engine.Classes, samples)
	}
	return i, err
}

func inspectSteps(r recipe.Recipe, schemas []sample.Schema) []inspectedStep {
	all := make([]inspectedStep, len(r.Steps))
	for i, s := range r.Steps {
		from := []string{}
		if i > 0 {
			from = append(from, r.Steps[i-1].Name)
		}
		all[i] = inspectedStep{Name: s.Name, Op: s.Op, Text: stepText(s), From: from, Out: schemaFields(schemas[i]), out: schemas[i]}
	}
	return all
}

// stepText is like "resize(size=256)".
func stepText(s recipe.Step) string {
	return recipe.Recipe{Steps: []recipe.Step{s}}.String()
}

func schemaFields(s sample.Schema) []headrace.Field {
	all := make([]headrace.Field, len(s))
	for i, f := range s {
		all[i] = headrace.Field{Name: f.Name, Kind: f.Type.Kind, DType: f.Type.DType, Shape: f.Type.Shape}
	}
	return all
}

func inspectEngine(l *headrace.Loader) *inspectedEngine {
	info, memory := l.Info(), l.Stats().Memory
	e := &inspectedEngine{
		Stages: info.Stages, Fields: info.Fields, Samples: info.Samples, SamplesPerEpoch: info.SamplesPerEpoch, BatchesPerEpoch: info.BatchesPerEpoch,
		Exact: info.Exact, Epochs: info.Epochs, Classes: append([]recipe.Path{}, info.Classes...), Rows: info.Rows, BatchBytes: int64(info.SlotBytes),
		Slots: memory.Batches.Slots, Workers: info.Workers, Memory: memory.Limit, HoldLimit: info.HoldLimit, Decoder: info.Decoder,
	}
	for _, f := range e.Fields {
		e.SampleBytes += rowBytes(f)
	}
	return e
}

// rowBytes is what a field takes in the batch's memory: text takes none, it travels beside it.
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

// boxes are the stages to draw, each with its steps. Where the engine has not said what it makes of the recipe, there is one for all.
func (i *inspection) boxes() []inspectedBox {
	if i.Engine == nil {
		return []inspectedBox{{steps: i.Steps, out: i.Steps[len(i.Steps)-1].out}}
	}
	var all []inspectedBox
	var last sample.Schema
	for _, stage := range i.Engine.Stages {
		b := inspectedBox{stage: &stage, source: len(all) == 0}
		for _, s := range i.Steps {
			if s.Stage == stage.Name {
				b.steps = append(b.steps, s)
				last = s.out
			}
		}
		b.out = last
		all = append(all, b)
	}
	return all
}

// inspectedBox is a stage of the engine with the steps that it carries out, and the edge behind it.
type inspectedBox struct {
	stage  *headrace.Stage // nil: not known
	source bool            // the first
	steps  []inspectedStep
	out    sample.Schema
}
