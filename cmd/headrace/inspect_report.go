package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/recipe"
	"github.com/headrace/headrace/sample"
)

// inspection is all that inspect tells. Its JSON form is stated in
// docs/guide/bench-and-inspect.md.
type inspection struct {
	File      string              `json:"file"`
	Recipe    recipe.Recipe       `json:"recipe"`
	Loader    headrace.Config     `json:"loader"`
	Variables []inspectedVariable `json:"variables"`
	Steps     []inspectedStep     `json:"steps"`
	Functions []string            `json:"functions"` // that the recipe imports where it runs
	Called    bool                `json:"called"`    // they were imported and called, for the first samples
	Engine    *inspectedEngine    `json:"engine"`    // nil: the source cannot be listed, the recipe is not complete, or a function would have to be called
	Samples   []inspectedSample   `json:"samples"`   // in the order of the first epoch
}

// inspectedVariable is what was put instead of a ${name}.
type inspectedVariable struct {
	Name  string `json:"name"`
	Value string `json:"value"`
	From  string `json:"from"`
}

// inspectedStep is a step of the recipe with the edge after it.
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
	Grouped         bool             `json:"grouped,omitempty"`
	Epochs          *int             `json:"epochs"`
	Classes         []recipe.Path    `json:"classes"`
	Rows            int              `json:"rows"`
	Whole           bool             `json:"whole,omitempty"`
	SampleBytes     int64            `json:"sample_bytes"` // in a batch
	BatchBytes      int64            `json:"batch_bytes"`
	Slots           int              `json:"slots"`
	Workers         int              `json:"workers"`
	Memory          int64            `json:"memory"`
	HoldLimit       int64            `json:"hold_limit"`
	Decoder         string           `json:"decoder"`
}

// inspect finds out all that can be known of a recipe, and how its first samples fare.
// Where it cannot be run, the inspection says what is known all the same.
func inspect(ctx context.Context, f recipe.File, c headrace.Config, samples int) (inspection, error) {
	r := f.Recipe.Complete()
	i := inspection{File: f.Name, Recipe: r, Loader: c, Variables: []inspectedVariable{}, Samples: []inspectedSample{}, Functions: append([]string{}, r.Functions()...)}
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
		w.all = append(w.all, inspectedStep{Name: s.Name, Op: s.Op, Text: stepText(s), From: from, Out: schemaFields(w.schemas[k]), out: w.schemas[k]})
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
		all[i] = headrace.Field{Name: f.Name, Kind: f.Type.Kind, DType: f.Type.DType, Shape: f.Type.Shape}
	}
	return all
}

func inspectEngine(l *headrace.Loader) *inspectedEngine {
	info, memory := l.Info(), l.Stats().Memory
	e := &inspectedEngine{
		Stages: info.Stages, Fields: info.Fields, Samples: info.Samples, SamplesPerEpoch: info.SamplesPerEpoch, BatchesPerEpoch: info.BatchesPerEpoch,
		Exact: info.Exact, Grouped: info.Grouped, Epochs: info.Epochs, Classes: append([]recipe.Path{}, info.Classes...), Rows: info.Rows, Whole: info.Whole, BatchBytes: int64(info.SlotBytes),
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

// inspectedBox is what is drawn as one, and the edge after it: a stage of the engine
// with the steps that it carries out, or a step that holds chains of others.
type inspectedBox struct {
	stage *headrace.Stage // nil: not known
	steps []inspectedStep
	holds []inspectedChain // of the one step that there is then
	out   sample.Schema
}

// inspectedChain is a chain that a step holds.
type inspectedChain struct {
	title string
	boxes []inspectedBox
}

// boxes are what to draw. Where the engine has not said what it makes of the recipe,
// there is one for all steps that follow one another.
func (i *inspection) boxes() []inspectedBox {
	b := boxer{inspection: i}
	return b.chain(i.Recipe.Steps, nil)
}

type boxer struct {
	*inspection
	next int // the step that comes next
}

// chain makes boxes of steps, to which samples come with these fields.
func (b *boxer) chain(steps []recipe.Step, in sample.Schema) (all []inspectedBox) {
	for _, s := range steps {
		step := b.Steps[b.next]
		b.next++
		holds := b.holds(s.Args, in)
		if last := len(all) - 1; last >= 0 && holds == nil && all[last].holds == nil && all[last].carries(step) {
			all[last].steps = append(all[last].steps, step)
			all[last].out = step.out
		} else {
			all = append(all, b.silent(step, -1, in)...)
			all = append(all, inspectedBox{stage: b.stage(step.Stage), steps: []inspectedStep{step}, holds: holds, out: step.out})
		}
		in = step.out
		if b.ends(step) {
			all = append(all, b.silent(step, 1, in)...)
		}
	}
	return all
}

// holds are the chains inside of a step.
func (b *boxer) holds(args recipe.Args, in sample.Schema) (all []inspectedChain) {
	chains, t := recipe.ChainsOf(args), recipe.TraitsOf(args)
	for k, c := range chains {
		if t.Routing != nil {
			all = append(all, inspectedChain{t.Routing.Label(k), b.chain(c, in)})
		} else {
			all = append(all, inspectedChain{fmt.Sprintf("%d of %d", k+1, len(chains)), b.chain(c, nil)})
		}
	}
	return all
}

// carries tells whether a box has the stage of a step.
func (b inspectedBox) carries(s inspectedStep) bool {
	if b.stage == nil {
		return s.Stage == ""
	}
	return b.stage.Name == s.Stage
}

// stage finds a stage of the engine; nil: it has none of this name.
func (i *inspection) stage(name string) *headrace.Stage {
	if k := i.stageIndex(name); k >= 0 {
		return &i.Engine.Stages[k]
	}
	return nil
}

func (i *inspection) stageIndex(name string) int {
	if i.Engine == nil {
		return -1
	}
	return slices.IndexFunc(i.Engine.Stages, func(s headrace.Stage) bool { return s.Name == name })
}

// ends tells whether a step is the last that its stage carries out.
func (i *inspection) ends(s inspectedStep) bool {
	stage := i.stage(s.Stage)
	return stage != nil && stage.Steps[len(stage.Steps)-1] == s.Name
}

// silent are the stages that carry out no step, before that of a step (-1) or after it
// (1), in the order in which samples come there: files are read after their source;
// for other stages, others make ready.
func (i *inspection) silent(s inspectedStep, direction int, in sample.Schema) (all []inspectedBox) {
	k := i.stageIndex(s.Stage)
	if k < 0 {
		return nil
	}
	for k += direction; k >= 0 && k < len(i.Engine.Stages); k += direction {
		stage := &i.Engine.Stages[k]
		if len(stage.Steps) > 0 || strings.HasPrefix(stage.Name, "read") != (direction > 0) {
			break
		}
		all = append(all, inspectedBox{stage: stage, out: in})
	}
	if direction < 0 {
		slices.Reverse(all)
	}
	return all
}
