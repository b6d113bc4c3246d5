package serve

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/headrace/headrace/internal/preview"
	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/wire"
)

// preview draws the first samples of a recipe for a client that wants to see them. It
// has a loader of its own, and there is no other in the session.
func (s *session) preview(ctx context.Context, f wire.Frame) error {
	var asked wire.Preview
	if err := parse(f, &asked); err != nil {
		return err
	}

	validSamples := asked.Samples >= 1 && asked.Samples <= preview.MostSamples
	validEpoch := asked.Epoch >= 0 && asked.Epoch <= preview.MostEpoch
	validColumns := asked.Columns >= 0 && asked.Columns <= preview.MostSamples // 0: preview decides
	validTile := asked.Tile >= 0 && asked.Tile <= preview.LargestTile          // likewise
	if !validSamples || !validEpoch || !validColumns || !validTile {
		return coded(wire.CodeRecipe, fmt.Errorf("headrace: a preview of %d samples of epoch %d, "+
			"%d side by side, in tiles of %d pixels: must be from 1 to %d samples, and tiles of at most %d",
			asked.Samples, asked.Epoch, asked.Columns, asked.Tile, preview.MostSamples, preview.LargestTile))
	}

	r, config, options, err := s.read(asked.Open)
	if err != nil {
		return err
	}

	// No frame is read meanwhile, so a client that leaves is noticed by its hang-up.
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer s.conn.WatchHangup(func() { cancel(errVanished) })()
	drawn, err := preview.Draw(ctx, preview.Request{
		Recipe: r, Title: asked.Title, Config: config, Options: options, Samples: asked.Samples,
		Epoch: asked.Epoch, Columns: asked.Columns, Tile: asked.Tile,
	})
	switch mistake := (*preview.Mistake)(nil); {
	case errors.As(err, &mistake):
		return coded(wire.CodeRecipe, fmt.Errorf("headrace: preview: %w", err))
	case err != nil && ctx.Err() != nil:
		return context.Cause(ctx)
	case err != nil:
		return err
	}

	return s.sendPreview(drawn)
}

func (s *session) sendPreview(p *preview.Preview) error {
	told := wire.Previewed{Width: p.Picture.Width, Height: p.Picture.Height, Of: p.Of, Samples: make([]wire.PreviewTile, 0, len(p.Samples))}
	for _, t := range p.Samples {
		told.Samples = append(told.Samples, wire.PreviewTile{Key: pathJSON(t.Key), Label: t.Label, Error: t.Error})
	}
	text, err := json.Marshal(told)
	if err != nil {
		return err
	}
	payload := append(binary.LittleEndian.AppendUint32(nil, uint32(len(text))), text...)
	if payload, err = media.Encode(payload, p.Picture, media.EncodeOptions{Format: media.PNG}); err != nil {
		return err
	}
	s.logs.flush()
	return s.conn.Send(wire.KindPreviewed, 0, payload)
}
