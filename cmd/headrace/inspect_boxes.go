package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/recipe"
	"github.com/headrace/headrace/sample"
)

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
