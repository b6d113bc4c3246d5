package main

import (
	"context"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/internal/export"
	"github.com/headrace/headrace/internal/numbers"
	"github.com/headrace/headrace/internal/preview"
	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/media/av/whole"
	"github.com/headrace/headrace/recipe"
	"github.com/headrace/headrace/sample"
	"github.com/headrace/headrace/store"
)

// inspectSamples looks at the samples with which the first epoch begins.
func inspectSamples(ctx context.Context, r recipe.Recipe, c headrace.Config, classes []recipe.Path, n int) ([]inspectedSample, error) {
	rows, err := preview.Open(ctx, r, c, headrace.Options{}, n, func(s headrace.Lost) inspectedSample {
		return inspectedSample{Key: recipe.Path(s.Key), Stage: s.Stage, Error: preview.Reason(s.Err)}
	})
	if err != nil {
		return nil, err
	}
	defer rows.Loader.Close()
	fields := rows.Loader.Info().Fields
	all, err := rows.Take(ctx, 0, func(b *headrace.Batch) (inspectedSample, error) { return fromBatch(b, fields, classes), nil })
	for i := range all {
		all[i].look(ctx, r)
	}
	return append([]inspectedSample{}, all...), err
}

// fromBatch tells what is in a batch of one sample.
func fromBatch(b *headrace.Batch, fields []headrace.Field, classes []recipe.Path) inspectedSample {
	var s inspectedSample
	label, labelled := preview.Label(b)

	for _, f := range fields {
		switch {
		case f.Kind == sample.Text && f.Name == "key":
			s.Key = recipe.Path(b.Text(f.Name)[0])
			continue
		case f.Kind == sample.Text && len(f.Shape) > 0:
			s.Texts = append(s.Texts, fieldText{f.Name, export.ListsAsJSON(b, f.Name)[0]})
			continue
		case f.Kind == sample.Text:
			s.Texts = append(s.Texts, fieldText{f.Name, b.Text(f.Name)[0]})
			continue
		case f.Kind == sample.Object:
			s.Objects = append(s.Objects, fieldObject{f.Name, len(b.Objects(f.Name)[0])})
			continue
		}

		t, ok := b.Tensor(f.Name)
		// The sample's own shape is shown, since no other sample has to have it.
		if f.Kind == sample.Ragged {
			one := b.Ragged(f.Name)[0]
			values := numbers.SpreadOf(one.DType, one.Data, len(one.Data)/one.DType.Size())
			s.Values = append(s.Values, fieldValues{Name: f.Name, DType: f.DType, Shape: one.Shape, Spread: values})
		}
		switch {
		case !ok:
			continue
		case f.Name == "label" && labelled:
			s.Label = &label
			if label >= 0 && label < int64(len(classes)) {
				s.Class = &classes[label]
			}
			continue
		}

		if len(t.Shape) > len(f.Shape) { // else no step makes batches
			t = t.Row(0)
		}
		values := numbers.SpreadOf(t.DType, t.Data, len(t.Data)/t.DType.Size())
		s.Values = append(s.Values, fieldValues{Name: f.Name, DType: f.DType, Shape: f.Shape, Spread: values})
	}
	return s
}

// look adds what the file itself says: that of the first source which has one. Where it
// cannot be read, the sample's own error has said so.
func (s *inspectedSample) look(ctx context.Context, r recipe.Recipe) {
	for _, step := range r.All() {
		files, ok := step.Args.(recipe.Opened)
		if !ok {
			continue
		}
		root, most := files.From()
		path := store.Under(root, string(s.Key))
		if readsVideo(r) && s.lookAtVideo(ctx, path) {
			return
		}
		data, err := store.Read(ctx, path, most)
		if err != nil {
			continue
		}
		s.Bytes, s.Live = int64(len(data)), whole.IsLive(data)
		info, _ := media.Probe(data)
		s.Format, s.Width, s.Height, s.Orientation = info.Format, info.Width, info.Height, info.Orientation
		return
	}
}
