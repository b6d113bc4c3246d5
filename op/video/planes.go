package video

import (
	"encoding/binary"

	"github.com/headrace/headrace/internal/record"
	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/media/video"
	"github.com/headrace/headrace/tensor"
)

// newPlanesWriter makes a writer for frames of a video, by the plan that would make
// images of them.
func newPlanesWriter(args *DecodeVideo, plan *media.Plan) *video.PlanesWriter {
	return video.NewPlanesWriter(args.PlanesOf(plan.Width, plan.Height), plan)
}

// planesForm returns the form of the planes of upright frames of this form.
func planesForm(args *DecodeVideo, f media.Form) media.Form {
	return video.PlanesForm(args.PlanesOf(f.Width, f.Height))
}

// tellMatrix gives a record how colours come from its planes.
func (v *Video) tellMatrix(it *record.Record, w *video.PlanesWriter) {
	if w == nil || v.Matrix.Kind != record.Arrays {
		return
	}
	told := w.Told()
	data := *it.Values.Borrow(&v.env.Images, 8*len(told))
	for i, n := range told {
		binary.NativeEndian.PutUint64(data[8*i:], uint64(n))
	}
	it.Values.Arrays[v.Matrix.At] = record.Array{Shape: tensor.Shape{len(told)}, Data: data}
}
