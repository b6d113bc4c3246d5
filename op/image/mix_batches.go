package image

import (
	"context"
	"errors"
	"fmt"
	"math"
	"unsafe"

	"github.com/headrace/headrace/internal/argument"
	"github.com/headrace/headrace/internal/numbers"
	"github.com/headrace/headrace/internal/record"
	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/op/core"
	"github.com/headrace/headrace/order"
	"github.com/headrace/headrace/recipe"
	"github.com/headrace/headrace/sample"
	"github.com/headrace/headrace/tensor"
)

var _ = Ops.Add(recipe.NewOp[MixUp]("mixup", recipe.Between,
	"Mix each image of a batch with the one before it, and their labels alike, as torchvision's 'MixUp'; or, by chance, as 'CutMix'.").
	Explained(`
It comes after 'batch'. Images stay uint8 or float32; labels become float32, a number for each class. A batch of one stays as it is,
but for its label.`,
		".batch(64).mixup(0.8, classes=1000)", ".batch(64).mixup(0.8, classes=1000, cutmix=1.0)  # either, as timm").
	Called("alpha, classes").
	Telling("share", "x", "y", "width", "height"))

// MixUp are the arguments of the operation mixup.
type MixUp struct {
	Alpha *float64 `json:"alpha,omitempty" min:"0.001" max:"1000" default:"1" doc:"of the distribution of the share that an image keeps"`
	Mixing
	CutMix *float64 `json:"cutmix,omitempty" min:"0.001" max:"1000" example:"1.0" doc:"alpha of cutmix, which half of the batches get"`
}

var _ = Ops.Add(recipe.NewOp[CutMix]("cutmix", recipe.Between,
	"Lay a rectangle of the image before it over each image of a batch, and mix their labels, as torchvision's 'CutMix'.").
	Explained("It comes after 'batch'. Labels become float32, a number for each class.", ".batch(64).cutmix(1.0, classes=1000)").
	Called("alpha, classes").
	Telling("share", "x", "y", "width", "height"))

// CutMix are the arguments of the operation cutmix.
type CutMix struct {
	Alpha *float64 `json:"alpha,omitempty" min:"0.001" max:"1000" default:"1" doc:"of the distribution of the share that an image keeps"`
	Mixing
}

// Mixing are the arguments of steps that mix whole batches.
type Mixing struct {
	Classes   *int     `json:"classes,omitempty" min:"1" max:"1000000" example:"1000"`
	P         *float64 `json:"p,omitempty" min:"0" max:"1" default:"1" doc:"the probability with which a batch is mixed"`
	Group     *int     `json:"group,omitempty" min:"1" max:"1000000" example:"32"`
	Smoothing *float64 `json:"smoothing,omitempty" min:"0" max:"1" default:"0" doc:"the share of a label that all classes get alike"`
	Image     string   `json:"image,omitempty" default:"image" doc:"the images, uint8 or float32"`
	Label     string   `json:"label,omitempty" default:"label" doc:"whole numbers of classes, or float32 with a number for each class"`
	Layout    string   `json:"layout,omitempty" choices:"NHWC,NCHW" doc:"the axes of images; by default as the number of channels says"`
}

// Docs implements [argument.Documented].
func (Mixing) Docs() map[string]string {
	return map[string]string{
		"classes": "the number of classes, if labels are whole numbers",
		"group": "so many rows after each other are mixed among themselves, by draws of their own; by default all rows of a batch. " +
			"With 'batch(global_size=…)' a number that divides the rows of each rank mixes alike on any number of ranks",
	}
}

// Check implements [recipe.Args].
func (m *MixUp) Check(sample.Schema) (sample.Schema, error) {
	return nil, errors.Join(argument.CheckTags(m), errNoBatch)
}

// CheckRows implements [recipe.OnRows].
func (m *MixUp) CheckRows(in sample.Schema) (sample.Schema, error) {
	return m.checkRows(in, argument.CheckTags(m))
}

// Check implements [recipe.Args].
func (m *CutMix) Check(sample.Schema) (sample.Schema, error) {
	return nil, errors.Join(argument.CheckTags(m), errNoBatch)
}

// CheckRows implements [recipe.OnRows].
func (m *CutMix) CheckRows(in sample.Schema) (sample.Schema, error) {
	return m.checkRows(in, argument.CheckTags(m))
}

var errNoBatch = errors.New("mixes the images of a batch: put batch before it")

// checkRows holds the arguments against batches.
func (m *Mixing) checkRows(in sample.Schema, err error) (sample.Schema, error) {
	if err != nil {
		return nil, err
	}
	if err := errors.Join(checkBatchImages(in, m.Image), checkBatchField(in, "label", m.Label)); err != nil {
		return nil, err
	}
	out, err := m.labels(in[in.Find(m.Label)].Type)
	if err != nil {
		return nil, err
	}
	return in.Replace(m.Label, sample.Field{Name: m.Label, Type: out}), nil
}

// labels returns the type that labels get.
func (m *Mixing) labels(is sample.Type) (sample.Type, error) {
	switch whole := is.DType >= tensor.Uint8 && is.DType <= tensor.Int64; {
	case is.Kind == sample.Tensor && is.DType == tensor.Float32 && len(is.Shape) == 2 && is.Shape[1] > 0:
		if m.Classes != nil && *m.Classes != is.Shape[1] {
			return is, recipe.Wrong("classes", "is %d, but %q has %d numbers for each image", *m.Classes, m.Label, is.Shape[1])
		}
		return is, nil
	case is.Kind != sample.Tensor || !whole || len(is.Shape) != 1:
		return is, recipe.Wrong("label", "is %q, which is %v: must be a whole number for each image, or float32 with one for each class",
			m.Label, is)
	case m.Classes == nil:
		return is, errors.New("needs classes: labels are whole numbers, and become as many as there are classes")
	}
	return sample.TensorType(tensor.Float32, is.Shape[0], *m.Classes), nil
}

// mixer is the part of a recipe that mixes batches.
type mixer struct {
	env           *core.Env
	name          string
	id            uint64
	args          *Mixing
	mixup, cutmix float64 // alpha; 0: never

	images       batchImages
	label, gives record.Column
	from         tensor.DType // of labels
	classes      int
}

// Link implements [core.Linker].
func (m *MixUp) Link(w *core.Env, name string, t *core.Scope) (core.Part, error) {
	return m.link(w, name, t, &mixer{mixup: *m.Alpha, cutmix: argument.OrElse(m.CutMix, 0)})
}

// Link implements [core.Linker].
func (m *CutMix) Link(w *core.Env, name string, t *core.Scope) (core.Part, error) {
	return m.link(w, name, t, &mixer{cutmix: *m.Alpha})
}

func (m *Mixing) link(w *core.Env, name string, t *core.Scope, p *mixer) (core.Part, error) {
	p.env, p.name, p.id, p.args = w, name, order.OpID(name), m
	labels := t.Schema[t.Schema.Find(m.Label)].Type
	out, err := m.labels(labels)
	if err != nil {
		return nil, err
	}
	p.images, p.from, p.classes = newBatchImages(m.Image, m.Layout, t), labels.DType, out.Shape[1]
	p.label = t.Columns.Take(m.Label)
	p.gives = t.Columns.PutAny(m.Label, out)
	t.Schema = t.Schema.Replace(m.Label, sample.Field{Name: m.Label, Type: out})
	return p, nil
}

// Run implements [core.Part].
func (p *mixer) Run(_ context.Context, it *record.Record, t *core.Tool) error {
	v := it.Values
	rows := v.Arrays[p.images.at.At].Shape[0]
	targets, err := p.targets(v, rows)
	if err != nil {
		return err
	}

	is := v.Arrays[p.images.at.At]
	to := *v.Borrow(&p.env.Images, len(is.Data)) // another field may have the memory of the images
	size := len(is.Data) / max(rows, 1)
	eachGroup(p.env, it, t, p.id, p.args.Group, rows, func(from, until int, draws *media.Sequence) {
		told := p.mixGroup(to[from*size:until*size], is.Data[from*size:until*size],
			targets[from*p.classes:until*p.classes], until-from, draws)
		if p.env.Ledger {
			p.tell(it, from, until, told)
		}
	})
	v.Arrays[p.images.at.At] = record.Array{Shape: is.Shape, Data: to}
	p.env.Settle(it)
	it.Account()
	return nil
}

// tell notes the draws for some rows of a batch.
func (p *mixer) tell(it *record.Record, from, until int, told map[string]any) {
	if p.args.Group == nil || len(it.Members) < until {
		it.Drew(p.name, told)
		return
	}
	for _, row := range it.Members[from:until] {
		row.Drew(p.name, told)
	}
}

// mixGroup mixes rows among themselves, and returns its draws.
func (p *mixer) mixGroup(to, images []byte, targets []float32, rows int, d *media.Sequence) map[string]any {
	told := map[string]any{"share": 1.0}
	if rows == 1 || d.Next() >= *p.args.P { // of one there is no partner
		copy(to, images)
		return told
	}
	cut := p.cutmix > 0 && (p.mixup == 0 || d.Next() < 0.5)
	share := 0.0
	if cut {
		share = p.cut(to, images, rows, d.Beta(p.cutmix), d, told)
	} else {
		w := int(math.RoundToEven(256 * d.Beta(p.mixup)))
		p.mix(to, images, rows, w)
		share = float64(w) / 256
	}
	told["share"] = share
	p.mixTargets(targets, rows, float32(share))
	return told
}

// targets makes numbers for each class of the labels.
func (p *mixer) targets(v *record.Values, rows int) ([]float32, error) {
	labels := v.Data(p.label)
	memory := *v.Borrow(&p.env.Images, 4*rows*p.classes)
	all := unsafe.Slice((*float32)(unsafe.Pointer(unsafe.SliceData(memory))), rows*p.classes)
	smoothing := *p.args.Smoothing
	off, on := float32(smoothing/float64(p.classes)), float32(1-smoothing)

	if p.from == tensor.Float32 { // labels that were mixed already: a share of each class
		for i, n := range unsafe.Slice((*float32)(unsafe.Pointer(unsafe.SliceData(labels))), len(all)) {
			all[i] = float32(n*on) + off
		}
	} else {
		number := numbers.Reader(p.from)
		for i := range all {
			all[i] = off
		}
		for i := range rows {
			class := number(labels, i)
			if !(class >= 0 && class < float64(p.classes)) {
				return nil, &core.StepError{Step: p.name, Err: fmt.Errorf("headrace: row %d of %q is %v: the classes are 0 to %d",
					i, p.args.Label, class, p.classes-1)}
			}
			all[i*p.classes+int(class)] = on + off
		}
	}
	if p.label != p.gives {
		v.Forget(p.label)
	}
	v.Arrays[p.gives.At] = record.Array{Shape: tensor.Shape{rows, p.classes}, Data: memory}
	return all, nil
}

// mixTargets mixes those of each row with those of the row before; of the first, of the
// last.
func (p *mixer) mixTargets(all []float32, rows int, share float32) {
	n := p.classes
	last := append([]float32(nil), all[(rows-1)*n:]...)
	for i := rows - 1; i >= 0; i-- {
		before := last
		if i > 0 {
			before = all[(i-1)*n:][:n]
		}
		row := all[i*n:][:n]
		for k, v := range row {
			row[k] = float32(v*share) + float32(before[k]*(1-share))
		}
	}
}

// mix mixes all images.
func (p *mixer) mix(to, images []byte, rows, w int) {
	size := len(images) / rows
	for i := range rows {
		row, own, before := to[i*size:][:size], images[i*size:][:size], images[(i+rows-1)%rows*size:][:size]
		if p.images.bytes {
			media.MixBytes(row, own, before, w)
		} else {
			media.MixFloats(floatsOf(row), floatsOf(own), floatsOf(before), w)
		}
	}
}

// cut lays a rectangle of the row before over each image, and returns the share that it
// keeps.
func (p *mixer) cut(to, images []byte, rows int, share float64, d *media.Sequence, told map[string]any) float64 {
	height, width := p.images.height, p.images.width
	x, y := int(d.Next()*float64(width)), int(d.Next()*float64(height))
	half := 0.5 * math.Sqrt(1-share)
	dx, dy := int(half*float64(width)), int(half*float64(height))
	x0, x1, y0, y1 := max(x-dx, 0), min(x+dx, width), max(y-dy, 0), min(y+dy, height)
	told["x"], told["y"], told["width"], told["height"] = x0, y0, x1-x0, y1-y0

	size := p.images.size()
	copy(to, images)
	for i := range rows {
		p.images.lay(to[i*size:][:size], x0, y0, x1, y1, images[(i+rows-1)%rows*size:][:size], x0, y0)
	}
	return 1 - float64((x1-x0)*(y1-y0))/float64(width*height)
}

func floatsOf(b []byte) []float32 {
	return unsafe.Slice((*float32)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/4)
}

// Foresee implements [core.Part]: batches are accounted for when they are made.
func (p *mixer) Foresee(*record.Record, *core.Tool) int64 { return 0 }
