package video

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/media/av"
	headers "github.com/headrace/headrace/media/av/slices"
)

// Decode calls show for each frame that is wanted, in any order, with its number: once,
// or of a clip that keeps damaged frames perhaps again, and the last time counts.
// The frame's memory is the decoder's: show must not keep it. Decoding ends with the
// first error, also one of show, and soon after ctx does.
func (c *Clip) Decode(ctx context.Context, show func(frame int, f *Frame) error) error {
	if err := c.Load(); err != nil {
		return about(err)
	}
	for i := range c.runs {
		if err := c.DecodePart(ctx, i, show); err != nil {
			return err
		}
	}
	return nil
}

// Parts is how many parts of the clip can be decoded side by side.
func (c *Clip) Parts() int { return len(c.runs) }

// DecodePart decodes one of them, as Decode does, with a decoder of its own. Several
// goroutines may do so at once, after Load.
func (c *Clip) DecodePart(ctx context.Context, i int, show func(frame int, f *Frame) error) error {
	if c.keeps {
		return about(c.decodeKept(ctx, &c.runs[i], show))
	}
	return about(c.decodeSound(ctx, &c.runs[i], show))
}

// decodeSound decodes a run, of which nothing may be damaged.
func (c *Clip) decodeSound(ctx context.Context, r *run, show func(int, *Frame) error) error {
	missing, err := c.decode(ctx, r, false, show)
	if err == nil && len(missing) > 0 {
		err = c.again(ctx, r.Run, missing, show)
	}
	return err
}

// decodeKept decodes a run as if nothing were damaged. If something is, it decodes the
// run again, and shows whatever comes, also what has come before: only then it is known
// what is behind damage.
func (c *Clip) decodeKept(ctx context.Context, r *run, show func(int, *Frame) error) error {
	var refused error // by show
	err := c.decodeSound(ctx, r, func(n int, f *Frame) error {
		refused = show(n, f)
		return refused
	})
	if refused != nil || !errors.Is(err, media.ErrCorrupt) && !errors.Is(err, media.ErrTruncated) {
		return err
	}
	_, err = c.decode(ctx, r, true, show)
	return err
}

// again decodes frames that have not come from earlier on: what is marked as a key packet
// is not always enough. Each try begins twice as many key packets earlier as the one
// before, so that all of them cost no more than twice the last.
func (c *Clip) again(ctx context.Context, r av.Run, missing []int, show func(int, *Frame) error) error {
	for step := 1; ; step *= 2 {
		r.Frames = missing
		var wider bool
		var err error
		if r, wider, err = c.video.widened(r, step); err != nil {
			return err
		}
		if !wider {
			return c.video.damaged(missing[0], "the decoder withholds it")
		}
		if missing, err = c.video.decodeAlone(ctx, r, show); err != nil || len(missing) == 0 {
			return err
		}
	}
}

// widened returns a run that begins so many key packets earlier, as far as there are, and
// reports whether there was one.
func (v *Video) widened(r av.Run, steps int) (_ av.Run, wider bool, err error) {
	for range steps {
		w, ok := v.Table.Widen(r)
		if !ok {
			break
		}
		r, wider = w, true
	}
	if wider {
		err = v.checkWithin(r)
	}
	return r, wider, err
}

// decodeAlone decodes a run whose packets were not read yet.
func (v *Video) decodeAlone(ctx context.Context, r av.Run, show func(int, *Frame) error) (missing []int, err error) {
	c := &Clip{video: v, runs: []run{{Run: r}}}
	defer c.Close()
	if err := c.Load(); err != nil {
		return nil, err
	}
	return c.decode(ctx, &c.runs[0], false, show)
}

// decode decodes a run, and returns the frames that have not come. If it keeps what is
// damaged, that comes with a mark, and otherwise it is an error.
func (c *Clip) decode(ctx context.Context, r *run, keeps bool, show func(int, *Frame) error) (missing []int, err error) {
	l, err := inUse()
	if err != nil {
		return nil, err
	}
	d, err := l.Decoder(&c.video.Stream)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	p := newPass(c, r, d, show)
	p.keeps = keeps
	for i := r.First; i <= r.Last && p.left > 0; i++ {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if err := p.feed(i); err != nil {
			return nil, err
		}
	}
	if p.left > 0 {
		if err := p.drain(); err != nil {
			return nil, err
		}
	}
	for _, n := range r.Frames {
		if !p.wants(p.table.Frames[n]) {
			continue
		}
		if err := p.check(n); err != nil && !keeps {
			return nil, err
		}
		missing = append(missing, n)
	}
	return missing, nil
}

// pass is a run that is being decoded.
type pass struct {
	clip    *Clip
	run     *run
	table   *av.Table
	decoder Decoder
	show    func(int, *Frame) error
	keeps   bool // damaged frames are shown

	frames  []int32 // of each packet of the run the frame that is wanted, and has not come, and 1; 0: none
	left    int     // how many
	fed     []int32 // packets that the decoder was given
	damages []harm  // in the order of their packets

	droppable, lost func(packet []byte) bool
	frame           Frame
}

// harm is what is wrong from a packet on.
type harm struct {
	packet int
	err    error
}

func newPass(c *Clip, r *run, d Decoder, show func(int, *Frame) error) *pass {
	s := &c.video.Stream
	p := &pass{
		clip: c, run: r, table: c.video.Table, decoder: d, show: show,
		frames: make([]int32, r.Last+1-r.First), left: len(r.Frames),
		droppable: headers.Droppable(s.Codec, s.Config), lost: headers.Lost(s.Codec, s.Config),
	}
	for _, n := range r.Frames {
		p.frames[int(p.table.Frames[n])-r.First] = int32(n) + 1
	}
	return p
}

// wants reports whether the frame of a packet has yet to come.
func (p *pass) wants(packet int32) bool { return p.frames[int(packet)-p.run.First] > 0 }

var (
	errLost    = errors.New("an image that it refers to is missing")
	errPatched = errors.New("the decoder has patched it up")
)

// feed gives the decoder a packet, unless no wanted frame needs it.
func (p *pass) feed(i int) error {
	data := p.clip.packet(p.run, i)
	wanted := p.wants(int32(i))
	if !wanted && p.droppable != nil && p.droppable(data) {
		return nil
	}
	if p.lost != nil && p.lost(data) {
		p.harmed(i, errLost)
	}
	if len(data) == 0 {
		if p.table.Packets[i].Size > 0 {
			p.harmed(i, media.ErrTruncated)
		}
		return nil
	}
	p.fed = append(p.fed, int32(i))
	if err := p.decoder.Feed(data, p.table.Packets[i].Key, !wanted, false); err != nil {
		return err
	}
	return p.take(i)
}

// drain has the decoder give the frames that it holds back.
func (p *pass) drain() error {
	if err := p.decoder.Feed(nil, false, false, true); err != nil {
		return err
	}
	return p.take(p.run.Last)
}

// take shows the frames that are ready, after packet i was fed.
func (p *pass) take(i int) error {
	for {
		err := p.decoder.Next(&p.frame)
		switch {
		case err == ErrNeeds || err == io.EOF:
			return nil
		case errors.Is(err, media.ErrCorrupt):
			p.harmed(i, err)
			continue
		case err != nil:
			return err
		}
		k := p.frame.Packet
		if k < 0 || k >= len(p.fed) {
			continue
		}
		wanted := p.wants(p.fed[k])
		if p.frame.Corrupt && (p.keeps || !wanted) { // one that is wanted is tried again first
			p.harmed(int(p.fed[k]), errPatched)
		}
		if !wanted || p.frame.Corrupt && !p.keeps {
			continue
		}
		at := &p.frames[int(p.fed[k])-p.run.First]
		n := int(*at) - 1
		if err := p.check(n); err != nil && !p.keeps {
			return err
		} else if err != nil || p.frame.Corrupt {
			p.frame.Damaged = true
		}
		*at = 0
		p.left--
		p.frame.from = p.decoder
		if err := p.show(n, &p.frame); err != nil {
			return err
		}
	}
}

// harmed notes damage. Frames that are displayed before the key frame with which decoding
// began may refer to others before that, and harm none after it.
func (p *pass) harmed(i int, err error) {
	if i > p.run.First && p.table.Packets[i].PTS < p.table.Packets[p.run.First].PTS {
		return
	}
	p.damages = append(p.damages, harm{i, err})
}

// check returns an error if something is wrong with what a frame is made of.
func (p *pass) check(n int) error {
	if len(p.damages) == 0 {
		return nil
	}
	packet := int(p.table.Frames[n])
	from := p.table.Runs([]int{n})[0].First
	i := slices.IndexFunc(p.damages, func(h harm) bool { return h.packet >= from && h.packet <= packet })
	if i < 0 {
		return nil
	}
	return p.clip.video.damaged(n, p.damages[i].err)
}

// damaged is the error about a frame, and why it is missing.
func (v *Video) damaged(frame int, why any) error {
	if err, ok := why.(error); ok && errors.Is(err, media.ErrCorrupt) {
		return fmt.Errorf("frame %d, at %.3f s, is damaged: %w", frame, v.Seconds(frame), err)
	}
	return fmt.Errorf("%w: frame %d, at %.3f s, is damaged: %v", media.ErrCorrupt, frame, v.Seconds(frame), why)
}

// Seconds returns when a frame is displayed, counted from the first.
func (v *Video) Seconds(frame int) float64 { return v.Table.Line.Seconds(v.Table.Line.Start[frame]) }
