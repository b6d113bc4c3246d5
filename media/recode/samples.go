package recode

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/big"
	"os"
	"slices"
	"strings"

	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/media/av"
	"github.com/headrace/headrace/media/av/packets"
	"github.com/headrace/headrace/media/ffmpeg"
	"github.com/headrace/headrace/media/sound"
	"github.com/headrace/headrace/media/sound/coded"
)

// SamplesOptions say which samples are wanted, and how they come out.
type SamplesOptions struct {
	Window              // of one stream of sound; none is that which players play
	Rate, Channels int  // 0: as they are
	Keep           bool // of a file that is cut off or damaged, what is there comes
	Raw            sound.Raw
	Choice         av.Choice
	Filter         string // a graph that samples go through, before they get rate and channels; "": none
}

// Samples decodes a recording from its beginning to its end. It has to be closed.
type Samples struct {
	flow   *flow // nil: the file is read in parts, of which any can be the first
	window *sound.Window
	at     int64 // counted from the first that is wanted
	first  int64 // of those in the file; 0, if there is a flow
	end    int64
	begins float64 // seconds: the first of those in the file, if there is no flow
}

// OpenSamples begins with a file, which has to stay open.
func OpenSamples(file *os.File, o SamplesOptions) (*Samples, error) {
	if len(o.Streams) == 0 {
		o.Streams = []string{"audio"}
	}
	if o.Keep || o.Raw != (sound.Raw{}) {
		if s, err := openParts(file, &o); s != nil || err != nil {
			return s, err
		}
		return openKept(file, &o)
	}
	if s, err := openTable(file, &o); s != nil || err != nil {
		return s, err
	}
	if s, err := openParts(file, &o); s != nil || err != nil {
		return s, err
	}
	if s, err := openHeld(file, &o); s != nil || err != nil {
		return s, err
	}

	o.decodes, o.remedy = true, sound.Remedy
	p, err := pull(file, &o.Window)
	if err != nil {
		return nil, err
	}
	s := &Samples{flow: &flow{decoding: decoding{packets: p}, Forward: sound.Forward{Total: sound.Endless}, most: sound.Endless}}
	s.flow.seeks, s.flow.choice = o.Start != nil, o.Choice
	s.flow.frames.whole = o.Start == nil && o.End == nil
	if err = s.flow.frames.begin(p.format, file); err == nil {
		err = s.flow.open()
	}
	if err == nil && o.End != nil {
		s.flow.limit(o.End)
	}
	if err == nil {
		s.window, err = sound.NewWindow(s.flow, o.Rate, o.Channels)
	}
	if err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// OpenSound opens samples that go through a graph, or [OpenSamples].
func OpenSound(file *os.File, o SamplesOptions) (sound.Played, error) {
	rate, channels := o.Rate, o.Channels
	if o.Filter != "" {
		o.Rate, o.Channels = 0, 0
	}
	s, err := OpenSamples(file, o)
	if err != nil {
		return nil, err
	}
	if o.Filter == "" {
		return s, nil
	}
	return sound.FilterPlayed(o.Filter, sound.Aligned{Sound: s, Channels: s.Channels()}, s.Second(), -1, rate, channels)
}

// Info describes the samples as a recording.
func (s *Samples) Info() sound.Info { return s.window.Info() }

// Rate is how many samples of each channel come in a second.
func (s *Samples) Rate() int { return s.window.Rate() }

// Channels is how many come.
func (s *Samples) Channels() int { return s.window.Channels() }

// Second is when the next sample is played, counted from the beginning of the file.
func (s *Samples) Second() float64 {
	if s.flow == nil {
		return s.begins + float64(s.first+s.at)/float64(s.Rate())
	}
	t, _ := new(big.Rat).Sub(s.flow.begins, s.flow.packets.clock.Zero).Float64()
	return t + float64(s.at)/float64(s.Rate())
}

// Next decodes samples of all channels, side by side, and returns how many there are:
// fewer than there is room for at the end, and none after it.
func (s *Samples) Next(ctx context.Context, to []float32) (n int, err error) {
	if s.flow != nil {
		s.flow.ctx = ctx
	} else if ctx.Err() != nil {
		return 0, context.Cause(ctx)
	}
	want := int64(len(to) / s.Channels())
	if want = min(want, s.left()); want == 0 {
		return 0, nil
	}
	if err := s.window.Read(to[:want*int64(s.Channels())], s.first+s.at); err != nil {
		return 0, err
	}
	want = min(want, s.left()) // the end may have come meanwhile
	s.at += want
	return int(want), nil
}

// skip leaves out samples of a file that is read in parts.
func (s *Samples) skip(n int64) { s.at = max(0, min(s.at+n, s.end-s.first)) }

// left is how many samples follow, as far as that is known.
func (s *Samples) left() int64 {
	if s.flow == nil {
		return s.end - s.first - s.at
	}
	return s.window.Left(s.flow.Total, s.at)
}

// Close gives back the decoder's memory.
func (s *Samples) Close() {
	if s.flow == nil {
		s.window.Close()
		return
	}
	s.flow.close()
}

var errNoSamples = fmt.Errorf("%w: no packet of the window gives any samples", media.ErrCorrupt)

// flow is a recording that is read once, forwards. It implements [sound.Stream].
type flow struct {
	decoding
	ctx    context.Context
	frame  ffmpeg.Frame
	info   sound.Info
	begins Second        // the first sample
	opens  ffmpeg.Stream // the decoder
	seeks  bool          // it begins in the middle of the file
	joined bool          // another recording has begun

	sound.Forward // what is decoded

	most    int64 // samples of the window, at most
	skip    int64 // samples that are not part of the recording, and come next
	held    []float32
	heldCut int64 // samples at the end of held that are not part of it
	heldFor int64 // samples that the container says held has; 0: it does not say
	fed     []trim
	before  int // packets that were fed, and are not in fed
	frames  mpegFrames
}

type trim struct{ skip, cut, lasts int64 }

func (f *flow) open() error {
	err := f.choose(av.Audio, "sound")
	if err != nil {
		return err
	}
	s := f.stream
	if err := coded.Refused(s.Codec, s.Config); err != nil {
		return err
	}
	t := ffmpeg.Track{Stream: s.Stream, Block: s.Block, Bits: s.Bits, BitRate: s.BitRate}
	f.opens = t.Decoding()
	f.opens.Choice = f.choice
	if f.decoder, err = ffmpeg.NewDecoder(f.opens); err != nil {
		return err
	}

	f.ctx = context.Background()
	f.begins = f.packets.clock.First[0]
	if f.begins == nil {
		f.begins = f.packets.clock.Zero
	}
	for f.info.Rate == 0 && f.Total == sound.Endless { // what the decoder gives is what counts
		if err := f.more(); err != nil {
			return err
		}
	}
	if f.info.Rate == 0 {
		return errNoSamples
	}
	return nil
}

// limit has the recording end at a second, where packets do not tell to the sample.
func (f *flow) limit(end Second) {
	last := new(big.Rat).Sub(new(big.Rat).Add(f.packets.clock.Zero, end), f.begins)
	f.most = max(0, ticks(last, av.Rational{Num: 1, Den: int32(max(1, f.info.Rate))}))
	if f.info.Channels > 0 {
		f.bound()
	}
}

// Info implements sound.Stream.
func (f *flow) Info() sound.Info {
	i := f.info
	i.Samples = f.Total
	return i
}

// Close implements sound.Stream.
func (f *flow) Close() {}

// Read implements sound.Stream. After the end there is silence.
func (f *flow) Read(to []float32, from int64) error {
	return f.Forward.Read(to, from, f.info.Channels, f.more)
}

// more decodes a frame.
func (f *flow) more() error {
	if err := f.ctx.Err(); err != nil {
		return context.Cause(f.ctx)
	}
	err := f.decoder.Next(&f.frame)
	switch bad := (*ffmpeg.PacketError)(nil); {
	case err == nil:
		return f.take()
	case errors.Is(err, ffmpeg.ErrNeeds):
		return f.feed()
	case err == io.EOF:
		return f.ends()
	case errors.As(err, &bad):
		if f.seeks && (f.skip > 0 || f.info.Rate == 0 && bad.Packet < mostSettling(f.stream.Codec)) {
			return nil // what comes before the window may need what came before that
		}
		return fmt.Errorf("packet %d is damaged: %w: %s", bad.Packet, bad.Err, sound.Remedy)
	default:
		return err
	}
}

// mostSettling is how many packets at most come before a window so that the decoder
// settles.
func mostSettling(codec string) int {
	const shortest = 120 // samples of a packet of Opus
	packets, samples := coded.Settling(codec)
	return max(packets, int(samples/shortest))
}

func (f *flow) feed() error {
	p, ok, err := f.packet()
	if !ok {
		return err
	}
	return f.give(&p)
}

func (f *flow) give(p *packets.Packet) error {
	if len(p.Data) == 0 {
		return nil
	}
	if frame, err := f.frames.take(f.packets.format, p.Data); err != nil || !frame {
		return err
	}
	t := trim{skip: int64(p.Skip), cut: max(int64(p.Cut), f.frames.cut())}
	if f.stream.Rate > 0 && strings.HasPrefix(f.packets.format, "mov,") {
		t.lasts = av.Rescale(p.Duration, f.stream.TimeBase, av.Rational{Num: 1, Den: int32(f.stream.Rate)}, av.Nearest)
	}
	f.fed = append(f.fed, t)
	return f.decoder.Feed(p.Data, []ffmpeg.Packet{{Size: len(p.Data), Key: true}}, false)
}

// take keeps the samples of a frame apart until it is known whether it is the last.
func (f *flow) take() error {
	s := &f.frame.Sound
	if f.frame.Corrupt {
		return fmt.Errorf("%w: packet %d is damaged: %s", media.ErrCorrupt, f.frame.Packet, sound.Remedy)
	}
	if s.Samples == 0 {
		return nil
	}
	if f.info.Rate == 0 {
		f.info = sound.Info{Rate: s.Rate, Channels: s.Channels}
		if s.Layout>>32 == 0 {
			f.info.Mask = uint32(s.Layout)
		}
	}
	if s.Rate != f.info.Rate || s.Channels != f.info.Channels || len(s.Planes) == 0 || s.Rate <= 0 {
		return f.changed()
	}

	rest := f.before > f.frame.Packet && (f.frame.Packet >= 0 || f.ended)
	if rest && len(f.held) > 0 { // their end is that of the last packet
		f.hold(s)
		return nil
	}
	f.release(0)
	var t trim
	for ; f.before <= f.frame.Packet && len(f.fed) > 0; f.before++ {
		t.skip += f.fed[0].skip
		t.cut, t.lasts = f.fed[0].cut, f.fed[0].lasts
		f.fed = f.fed[1:]
	}
	scale := int64(1)
	if f.stream.Codec == "aac" && s.Rate == 2*f.stream.Rate { // the container's times are of what SBR doubles
		scale = 2
	}
	f.skip += t.skip * scale
	f.hold(s)
	f.heldCut, f.heldFor = t.cut*scale, t.lasts*scale
	return nil
}

// hold keeps samples behind those that are held.
func (f *flow) hold(s *ffmpeg.Sound) {
	have, n := len(f.held), s.Samples*s.Channels
	f.held = slices.Grow(f.held, n)[:have+n]
	s.Floats(f.held[have:])
}

// release hands over what was held, but for some samples at its end.
func (f *flow) release(more int64) {
	if f.info.Channels == 0 {
		return
	}
	channels := int64(f.info.Channels)
	n := int64(len(f.held)) / channels
	skip := min(f.skip, n)
	f.skip -= skip
	last := max(n-f.heldCut-more, skip)
	f.Held = append(f.Held, f.held[skip*channels:last*channels]...)
	f.held = f.held[:0]
	f.heldCut = 0
	f.bound()
}

// bound leaves out what is after the window's end.
func (f *flow) bound() {
	if over := f.Begin + int64(len(f.Held)/f.info.Channels) - f.most; over > 0 {
		f.Held = f.Held[:max(0, int64(len(f.Held))-over*int64(f.info.Channels))]
		f.Total = f.most
	}
}

// ends: the recording does. Another one may follow in the file, as in a chain of Ogg.
func (f *flow) ends() error {
	p, ok, err := f.another(f.opens)
	if err != nil {
		return err
	}
	if err := f.end(); err != nil || !ok {
		return err
	}
	f.Total, f.joined = sound.Endless, true
	f.fed, f.before, f.skip = nil, 0, 0
	return f.give(&p)
}

// changed is the error about sound that goes on as another kind.
func (f *flow) changed() error {
	s, what := &f.frame.Sound, "the recording changes"
	if f.joined {
		what = "another recording begins, for the file is a chain of them: split it there. It changes"
	}
	at, _ := new(big.Rat).Sub(f.begins, f.packets.clock.Zero).Float64()
	at += float64(f.Begin+int64((len(f.Held)+len(f.held))/f.info.Channels)) / float64(f.info.Rate)
	return fmt.Errorf("%w: at %.3f s %s from %d channels at %d samples a second to %d at %d",
		media.ErrUnsupported, at, what, f.info.Channels, f.info.Rate, s.Channels, s.Rate)
}

// end: the last packet of an MP4 may have fewer samples than its codec gives.
func (f *flow) end() error {
	more, err := f.frames.after()
	if err != nil {
		return err
	}
	if f.heldCut > 0 {
		more = 0
	}
	if f.info.Channels > 0 && f.heldFor > 0 {
		more = max(int64(len(f.held)/f.info.Channels)-f.heldFor, 0)
	}
	f.release(more)
	if f.info.Channels == 0 {
		f.Total = 0
		return nil
	}
	f.Total = min(f.Total, f.Begin+int64(len(f.Held))/int64(f.info.Channels))
	return nil
}
