package video

import (
	"context"
	"errors"
	"maps"
	"sync"
	"sync/atomic"

	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/op/image"
)

// mostWorking bounds what several decoders of one clip may take.
const mostWorking = 1 << 30

// Decoders returns the number of decoders for the clip, on so many cores. Planes have
// one, which sees to it that all frames are alike, and so does a filter, which is given
// them in order.
func (c *VideoClip) Decoders(cores int) int {
	if c.planes != nil || c.args.Filter != "" {
		return 1
	}
	return max(1, min(cores, c.clip.Parts(), int(mostWorking/c.decoding())))
}

// WorkingBytes returns the memory for decoding, besides the result.
func (c *VideoClip) WorkingBytes(decoders int) int64 {
	return c.clip.Bytes() + int64(decoders)*c.decoding()
}

// decoding returns the memory for one decoder and for the steps on its frames.
func (c *VideoClip) decoding() int64 {
	return c.working(c.decode.Form()) - c.clip.Bytes() + c.plan.WorkingBytes(nil, nil)
}

// Load reads the packets.
func (c *VideoClip) Load() error { return c.clip.Load() }

// Fill writes the clip to memory that has room for its form. Its parts are decoded by so
// many decoders at once, each of which works when compute calls it: that waits for a core
// as long as ctx lasts. Whatever their number, the bytes are the same, and so is the
// error.
func (c *VideoClip) Fill(ctx context.Context, to []byte, decoders int, compute func(ctx context.Context, do func() error) error) error {
	if int64(len(to)) < c.form.Bytes() {
		return errors.New("headrace: too little memory for a clip")
	}
	if err := c.clip.Load(); err != nil {
		return err
	}
	players := make([]player, decoders)
	for i := range players {
		plan := &c.plan
		if i > 0 { // each has one of its own
			plan = new(media.Plan)
			if err := media.MakePlan(c.info(), c.decode, c.steps, nil, plan); err != nil {
				return err
			}
		}
		y := &players[i]
		*y = player{decode: c.decode, steps: c.steps, plan: plan, video: &c.opened, planes: c.planes,
			to: image.NewFrameWriter(c.form, to), filter: c.args.Filter}
		y.begin()
		defer y.giveBack()
	}

	parts := newParts(c.clip.Parts())
	waiting, enough := context.WithCancel(ctx) // for a core
	defer enough()
	ended := make([]error, decoders) // what ended a decoder before its time
	var all sync.WaitGroup
	for i := range players {
		all.Go(func() {
			begun := false
			err := compute(waiting, func() error {
				begun = true
				if c.args.Filter != "" {
					return players[i].decoded(ctx)
				}
				parts.each(func(part int) error { return c.clip.DecodePart(ctx, part, players[i].show) })
				enough()
				return nil
			})
			// One that had no core is not missed where the others took all parts.
			if err != nil && (begun || !parts.taken()) {
				ended[i] = err
			}
		})
	}
	all.Wait()

	if err := errors.Join(ended...); err != nil {
		return err
	}
	if err := parts.err(); err != nil {
		return err
	}
	for i := range players[1:] {
		maps.Copy(players[0].came, players[i+1].came)
		maps.Copy(players[0].damaged, players[i+1].damaged)
	}
	return players[0].finish()
}

// parts are handed out one after the other, until one of them fails.
type parts struct {
	next   atomic.Int64
	failed []error // by their numbers
}

func newParts(n int) *parts { return &parts{failed: make([]error, n)} }

// each calls do for parts that no other decoder has.
func (p *parts) each(do func(part int) error) {
	for {
		i := int(p.next.Add(1)) - 1
		if i >= len(p.failed) {
			return
		}
		if p.failed[i] = do(i); p.failed[i] != nil {
			p.next.Store(int64(len(p.failed)))
		}
	}
}

// taken reports whether all were handed out.
func (p *parts) taken() bool { return int(p.next.Load()) >= len(p.failed) }

// err is that of the first part that failed: those before it were handed out earlier.
func (p *parts) err() error {
	for _, err := range p.failed {
		if err != nil {
			return err
		}
	}
	return nil
}
