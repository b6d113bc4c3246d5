package sound

import (
	"math"
	"slices"
	"unsafe"

	"github.com/headrace/headrace/internal/record"
	"github.com/headrace/headrace/internal/words"
	"github.com/headrace/headrace/op/core"
	"github.com/headrace/headrace/recipe"
	"github.com/headrace/headrace/sample"
	"github.com/headrace/headrace/tensor"
)

// Waves are the arguments of steps that change recordings.
type Waves struct {
	Field  string `json:"field,omitempty" default:"audio" doc:"the samples, float32 or int16"`
	Layout string `json:"layout,omitempty" choices:"TC,CT" default:"TC" doc:"the axes of samples that have two"`
}

// checkWaves returns the type of the samples.
func checkWaves(in sample.Schema, field string) (t sample.Type, err error) {
	at := in.Find(field)
	if at < 0 {
		return t, recipe.Wrong("field", "is %q: the samples have the fields %s", field, words.List(in.Names()))
	}
	t = in[at].Type
	sounds := t.DType == tensor.Float32 || t.DType == tensor.Int16
	axes := len(t.Shape)
	shaped := t.Kind == sample.Tensor && t.Axes == "" && (axes == 1 || axes == 2)
	if !shaped || !sounds {
		return t, recipe.Wrong("field", "is %q, which is %v: must be samples, float32 or int16; put decode_audio before it", field, t)
	}
	return t, nil
}

// rateOf returns the samples of a second: those that are given, or that the type tells.
func rateOf(t sample.Type, given *int, why string) (int, error) {
	told := int(t.Rate)
	switch {
	case given == nil && told > 0:
		return told, nil
	case given == nil:
		return 0, recipe.Wrong("rate", "is not given, and nothing tells how many samples a second has: %s; "+
			"give decode_audio a rate, or this step", why)
	case told > 0 && told != *given:
		return 0, recipe.Wrong("rate", "is %d, but the samples have %d a second", *given, told)
	}
	return *given, nil
}

// waves are the recordings that a step changes.
type waves struct {
	env *core.Env
	at  record.Column
	is  sample.Type
	ct  bool
}

func (w *Waves) waves(env *core.Env, t *core.Scope) waves {
	is := t.Schema[t.Schema.Find(w.Field)].Type
	return waves{env, t.Columns.Of[w.Field], is, w.Layout == "CT" && len(is.Shape) == 2}
}

// time is the axis of time.
func (w *waves) time() int {
	if w.ct {
		return 1
	}
	return 0
}

// samples returns how many samples of each channel a record has.
func (w *waves) samples(v *record.Values) int { return v.Arrays[w.at.At].Shape[w.time()] }

// change puts other samples of each channel in place of a record's: so many, of which
// run makes one channel after the other.
func (w *waves) change(it *record.Record, samples int, run func(to, from []float32)) {
	v := it.Values
	is := v.Arrays[w.at.At]
	n, channels := w.samples(v), 1
	if len(is.Shape) == 2 {
		channels = is.Shape[1-w.time()]
	}
	data := *v.Borrow(&w.env.Images, samples*channels*w.is.DType.Size())

	// One channel at a time, as numbers side by side: no step knows of axes and dtypes.
	room := w.env.Images.Take(4 * (n + samples))
	defer w.env.Images.Give(room)
	from, to := floatsOf((*room)[:4*n]), floatsOf((*room)[4*n:])
	for c := range channels {
		first, step := c, channels
		if w.ct {
			first, step = c*n, 1
		}
		w.load(from, is.Data, first, step)
		run(to, from)
		if w.ct {
			first = c * samples
		}
		w.store(data, to, first, step)
	}
	shape := slices.Clone(is.Shape)
	shape[w.time()] = samples
	v.Arrays[w.at.At] = record.Array{Shape: shape, Data: data}
	w.env.Settle(it)
	it.Account()
}

func (w *waves) load(to []float32, data []byte, first, step int) {
	if w.is.DType == tensor.Float32 {
		all := floatsOf(data)
		for i := range to {
			to[i] = all[first+i*step]
		}
		return
	}
	all := int16sOf(data)
	for i := range to {
		to[i] = float32(all[first+i*step]) / (1 << 15)
	}
}

func (w *waves) store(data []byte, from []float32, first, step int) {
	if w.is.DType == tensor.Float32 {
		all := floatsOf(data)
		for i, v := range from {
			all[first+i*step] = v
		}
		return
	}
	all := int16sOf(data)
	for i, v := range from {
		all[first+i*step] = int16(min(max(math.RoundToEven(float64(v)*(1<<15)), math.MinInt16), math.MaxInt16))
	}
}

// Foresee implements [core.Part]: the samples that come out, and those in between.
func (w *waves) Foresee(*record.Record, *core.Tool) int64 {
	if !w.is.Fixed() {
		return 0
	}
	n, _ := w.is.Shape.Bytes(w.is.DType) // checked with the recipe
	return 3 * n
}

func int16sOf(b []byte) []int16 {
	return unsafe.Slice((*int16)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/2)
}
