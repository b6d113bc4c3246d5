package recode

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math/big"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/media/av"
	"github.com/headrace/headrace/media/av/packets"
	"github.com/headrace/headrace/media/av/walk"
	"github.com/headrace/headrace/media/ffmpeg"
	"github.com/headrace/headrace/media/recode/places"
	"github.com/headrace/headrace/media/sound/coded"
	"github.com/headrace/headrace/media/video"
)

// Window says what of a file is wanted.
type Window struct {
	Start, End Second // nil: from its beginning, to its end
	Streams    []string
	// Streams names them: "video" and "audio" are those that players take, "videos"
	// and "audios" all, "v:1" the second of video, "3" by the number among all. None
	// is all of video and audio.

	all     bool       // what comes before the window is read, too
	decodes bool       // who takes the packets decodes them, and knows where the window ends
	wider   int        // so many groups of images more come before the window
	keeps   bool       // damage is left out
	remedy  string     // against damage
	raw     *video.Raw // the file is nothing but frames; nil: it has a container
}

// Check refuses windows that no file has.
func (w *Window) Check() error {
	if w.Start != nil && w.End != nil && w.Start.Cmp(w.End) > 0 {
		return fmt.Errorf("recode: the window ends at %s s, before it begins, at %s s", w.End.RatString(), w.Start.RatString())
	}
	return nil
}

// choose returns the numbers of streams that are wanted.
func choose(streams []packets.Stream, names []string) ([]int, error) {
	if len(names) == 0 {
		names = []string{"videos", "audios"}
	}
	var all []int
	for _, name := range names {
		found := named(streams, name)
		if len(found) == 0 && name != "videos" && name != "audios" {
			return nil, fmt.Errorf("%w %q: it has %s", errNoStream, name, list(streams))
		}
		all = append(all, found...)
	}
	slices.Sort(all)
	if all = slices.Compact(all); len(all) == 0 {
		return nil, fmt.Errorf("%w: the file has none of the streams: it has %s", media.ErrUnsupported, list(streams))
	}
	return all, nil
}

var errNoStream = fmt.Errorf("%w: the file has no stream", media.ErrUnsupported)

func named(streams []packets.Stream, name string) []int {
	if n, err := strconv.Atoi(name); err == nil {
		if n < 0 || n >= len(streams) {
			return nil
		}
		return []int{n}
	}
	kind, nth := name, -1
	if len(name) > 2 && name[1] == ':' {
		n, err := strconv.Atoi(name[2:])
		if err != nil || n < 0 {
			return nil
		}
		kind, nth = map[byte]string{'v': "videos", 'a': "audios"}[name[0]], n
	}
	of := map[string]av.Kind{"video": av.Video, "videos": av.Video, "audio": av.Audio, "audios": av.Audio}[kind]
	var all []int
	for i := range streams {
		if s := &streams[i]; of != av.Other && s.Kind == of && !s.Cover {
			all = append(all, i)
		}
	}
	switch {
	case nth >= len(all) || len(all) == 0:
		return nil
	case nth >= 0:
		return all[nth:][:1]
	case kind == "videos" || kind == "audios":
		return all
	}
	for _, i := range all {
		if streams[i].Default {
			return []int{i}
		}
	}
	return all[:1]
}

func list(streams []packets.Stream) string {
	if len(streams) == 0 {
		return "none"
	}
	text := ""
	for i := range streams {
		if i > 0 {
			text += ", "
		}
		text += fmt.Sprintf("%d: %s", i, streams[i].Kind)
		if streams[i].Cover {
			text += " (a cover)"
		}
	}
	return text
}

// lead is how long before a window reading begins, in seconds: sound needs 1.2 s of
// packets, or a few long ones, and containers are interleaved by a second or so.
const lead = 3

// cutter picks the packets of a window as they come.
type cutter struct {
	tracks []track // by the stream's number in the file
	put    func(p *packets.Packet) error
	clock  *Clock
	origin bool // reading began with the file's first packet

	decodes bool // who takes packets of sound counts samples, and stops at the window's end
	wider   int
}

// errEarlier says that what the window needs is before where reading began.
var errEarlier = errors.New("recode: reading began too late")

// track is a stream on its way.
type track struct {
	stream     *packets.Stream // that packets are of now
	first      *packets.Stream // that they were of at the beginning
	wanted     bool
	to         int           // its number among those that are wanted
	start, end int64         // ticks; of sound, in samples at its rate
	places     places.Places // of sound
	seen       bool          // a packet has come
	cut        bool          // of video: no key packet has come, and one will
	begun      bool          // the first packet of the window has come
	older      bool          // of sound: packets came before those that are held
	done       bool          // no packet of the window follows
	another    bool          // of sound: another recording has begun, which is
	other      *packets.Stream
	keys       []int // of video: where groups begin in held; the last may be the next packet
	held       []packets.Packet
	heldAt     []int64 // of sound: where they begin
}

func (c *cutter) take(p packets.Packet) error {
	t := &c.tracks[p.Stream]
	if !t.wanted {
		return nil
	}
	settle(&p)
	if p.Corrupt {
		return fmt.Errorf("%w: a packet of stream %d, at %.3f s of the container's time, %w",
			media.ErrCorrupt, p.Stream, float64(p.PTS)*t.stream.TimeBase.Float(), errMarked)
	}
	if p.PTS == packets.NoTime {
		return fmt.Errorf("%w: a packet of stream %d has no time", media.ErrCorrupt, p.Stream)
	}
	stream := p.Stream
	p.Stream = t.to
	if t.stream.Kind == av.Audio {
		return c.sound(t, p)
	}
	return c.picture(t, p, stream)
}

// picture holds packets from a key packet on, until one of the window comes.
func (c *cutter) picture(t *track, p packets.Packet, stream int) error {
	if t.cut && !p.Key { // the file begins in the middle of a group
		return nil
	}
	t.cut = false
	if p.DTS != packets.NoTime && p.DTS >= t.end {
		t.done = true
		return nil
	}
	inside := p.PTS >= t.start && p.PTS < t.end && !p.Discard
	p.Discard = !inside
	if p.Key && !t.begun && p.PTS <= t.start {
		t.keys = append(t.keys, len(t.held))
		if drop := len(t.keys) - 1 - c.wider; drop > 0 {
			t.held = slices.Delete(t.held, 0, t.keys[drop])
			t.keys = slices.Delete(t.keys, 0, drop)
			for i, at := range slices.Backward(t.keys) {
				t.keys[i] = at - t.keys[0]
			}
		}
	}
	if !inside {
		t.held = append(t.held, p)
		return nil
	}
	heldKey := len(t.held) > 0 && t.held[0].Key && t.held[0].PTS <= t.start
	nextKey := p.Key && p.PTS <= t.start
	if !t.begun && !c.origin && !heldKey && !nextKey {
		return fmt.Errorf("%w: stream %d", errEarlier, stream)
	}
	if !t.begun && len(t.keys) <= c.wider {
		if !c.origin {
			return fmt.Errorf("%w: stream %d", errEarlier, stream)
		}
		c.clock.widest = true
	}
	t.begun = true
	return c.flush(t, &p)
}

// flush hands out what is held, and a packet after it.
func (c *cutter) flush(t *track, p *packets.Packet) error {
	for i := range t.held {
		if err := c.put(&t.held[i]); err != nil {
			return err
		}
	}
	t.held = t.held[:0]
	return c.put(p)
}

// sound holds as many packets as a decoder needs, and says which samples are not of the
// window.
func (c *cutter) sound(t *track, p packets.Packet) error {
	s := t.stream
	if s.Rate <= 0 {
		return c.put(&p)
	}
	if c.origin && (!t.seen || p.Begins) && p.Skip == 0 {
		begins := s
		if p.Other != nil {
			begins = p.Other
		}
		p.Skip = uint32(coded.Priming(&begins.Stream))
	}
	t.seen = true
	if p.Begins {
		t.another, t.other = true, p.Other
		if s = t.first; p.Other != nil {
			s = p.Other
		}
		t.stream = s
		t.held, t.heldAt, t.older = t.held[:0], t.heldAt[:0], false
	}
	from, until, sure := t.places.Of(&p)
	if !sure {
		if until+2*t.places.Tick < t.start {
			return nil // others follow before the window
		}
		return errEarlier
	}
	skip, cut := int64(p.Skip), int64(p.Cut)
	if c.clock.guessed || onlyDecoded(t.stream.Codec) {
		return c.counted(t, p, from)
	}
	if from >= t.end {
		t.done = true
		return nil
	}
	if !t.begun && from+skip < t.start && until-cut <= t.start {
		t.held, t.heldAt = append(t.held, p), append(t.heldAt, from)
		for len(t.held) > 0 && t.settled(1, until) {
			t.held, t.heldAt = slices.Delete(t.held, 0, 1), slices.Delete(t.heldAt, 0, 1)
			t.older = true
		}
		return nil
	}
	if until-cut > t.end {
		p.Cut = uint32(until - t.end)
	}
	if t.begun {
		return c.put(&p)
	}
	if !c.origin && !t.settled(0, from) {
		return errEarlier
	}
	t.begun = true

	c.clock.First[t.to] = seconds(max(from+skip, t.start), t.places.One)

	// All that comes before the window is one skip, of the first packet that is decoded.
	first := &p
	if len(t.held) > 0 {
		first = &t.held[0]
	}
	begins := append(t.heldAt, from)
	if len(t.held) > 0 && places.StartsEmpty(s) {
		begins = begins[1:]
	}
	n := max(t.start-begins[0], 0)
	if c.origin && !t.older { // the recording's own skip is part of it
		n = max(n, int64(first.Skip))
	}
	first.Skip = uint32(n)
	first.Begins, first.Other = t.another, t.other
	for i := range t.held {
		if i > 0 {
			t.held[i].Skip = 0
		}
	}
	if len(t.held) > 0 {
		p.Skip = 0
	}
	return c.flush(t, &p)
}

// onlyDecoded reports whether only a decoder that began with the first packet tells which
// samples a packet gives: it depends on all before it, or FFmpeg guesses its time by the
// bytes before it. The samples of such streams are counted as they are decoded.
func onlyDecoded(codec string) bool {
	switch codec {
	case "wmav1", "wmav2", "speex", "gsm", "gsm_ms", "amrnb", "amrwb", "g722", "g723_1", "g729", "truespeech", "qcelp", "ilbc":
		return true
	}
	return strings.HasPrefix(codec, "adpcm_")
}

// counted hands out all packets up to the window's end, as far as their times tell.
func (c *cutter) counted(t *track, p packets.Packet, from int64) error {
	if !c.origin {
		return errEarlier
	}
	if !c.decodes && from-4*t.places.Tick >= t.end {
		t.done = true
		return nil
	}
	if !t.begun {
		t.begun = true
		begins := from + int64(p.Skip)
		c.clock.First[t.to] = seconds(max(begins, t.start), t.places.One)
		p.Skip = uint32(max(t.start-from, int64(p.Skip)))
	}
	return c.put(&p)
}

// settled reports whether a decoder can begin with the packets that are held, but for the
// first few, for the sake of one that begins at a place.
func (t *track) settled(but int, from int64) bool {
	packets, samples := coded.Settling(t.stream.Codec)
	if samples > 0 {
		return len(t.held) > but && from-t.heldAt[but] >= samples
	}
	return len(t.held)-but >= packets
}

const (
	minTime = -1 << 60
	maxTime = 1 << 60
)

// input is a file that packets are read from.
type input struct {
	container // until the first packet
	format    string
	streams   []packets.Stream // those that are wanted
	clock     *Clock
}

// read has put get the packets of a window. Begin is called before the first packet.
func read(ctx context.Context, file *os.File, w *Window, begin func(*input) error, put func(*packets.Packet) error) error {
	err := takeAll(ctx, file, w, begin, put)
	if errors.As(err, new(*walk.Damage)) || errors.Is(err, errMarked) {
		err = fmt.Errorf("%w: %s", err, cmp.Or(w.remedy, remedy))
	}
	return err
}

// follow has a container look for damage, unless that is kept. A window costs no more
// than its bytes.
func (w *Window) follow(c container) {
	r, ok := c.(*ffmpeg.Reader)
	if ok && w.keeps {
		r.Keep()
	}
	if ok && w.Start != nil {
		r.Light()
	}
}

// errMarked is the error of a packet that the container marks.
var errMarked = errors.New("is damaged or cut off")

// remedy helps those that need packets.
const remedy = "the command ffmpeg -i OLD -map 0 -c copy NEW makes a file without what is damaged"

func takeAll(ctx context.Context, file *os.File, w *Window, begin func(*input) error, put func(*packets.Packet) error) error {
	if err := w.Check(); err != nil {
		return err
	}
	if w.raw != nil {
		return takeRaw(ctx, file, w, begin, put)
	}
	if err := checkJoined(file); err != nil {
		return err
	}
	r, format, all, err := open(file)
	if err != nil {
		return err
	}
	defer func() { r.Close() }()
	w.follow(r)
	chosen, err := choose(all, w.Streams)
	if err != nil {
		return err
	}
	c, err := clock(r, all)
	if err != nil {
		return err
	}

	c.guessed = format == "dts" || format == "eac3" // without a container

	var streams []packets.Stream
	for _, i := range chosen {
		streams = append(streams, all[i])
	}
	if err := begin(&input{r, format, streams, c}); err != nil {
		return err
	}

	again := func() (err error) {
		r.Close()
		r, _, _, err = open(file)
		if err != nil {
			r = nowhere{}
			return err
		}
		w.follow(r)
		r.Only(chosen)
		return nil
	}
	// Seeking is tried, and what it finds checked. Where it is not enough, all is read.
	seeks := !w.all && w.Start != nil && w.Start.Cmp(big.NewRat(lead, 1)) > 0 && !c.guessed
	seeks = seeks && !slices.ContainsFunc(chosen, func(i int) bool {
		return onlyDecoded(all[i].Codec) || places.MustCount(&all[i], &c.grids[i]) || guesses(r, i)
	})
	if seeks {
		again, err := restarts(ctx, file, r, format)
		if err != nil {
			return err
		}
		seeks = !again
	}
	if seeks {
		from := new(big.Rat).Add(c.Zero, new(big.Rat).Sub(w.Start, big.NewRat(lead, 1)))
		r.Only(chosen)
		if at := leader(all, chosen); at >= 0 && r.Seek(at, ticks(from, all[at].TimeBase)) == nil {
			if err = pump(ctx, r, all, chosen, w, c, false, put); !errors.Is(err, errEarlier) {
				return err
			}
		}
	}
	if err := again(); err != nil {
		return err
	}
	return pump(ctx, r, all, chosen, w, c, true, put)
}

// nowhere is a container that could not be opened again.
type nowhere struct{ container }

// Close does nothing.
func (nowhere) Close() {}

// leader is the stream by which is sought: video, whose key packets are few. Matroska's
// index has that of video alone, even where only sound is wanted.
func leader(streams []packets.Stream, chosen []int) int {
	for _, i := range chosen {
		if streams[i].Kind == av.Video {
			return i
		}
	}
	if slices.ContainsFunc(chosen, func(i int) bool { return places.Coarse(&streams[i]) }) {
		for i := range streams {
			if streams[i].Kind == av.Video && !streams[i].Cover {
				return i
			}
		}
	}
	for _, i := range chosen {
		if streams[i].Kind == av.Audio {
			return i
		}
	}
	return -1
}

// pump reads the packets of a window to its end. Nothing is handed out before it is known
// that all streams have what they need.
func pump(ctx context.Context, r container, all []packets.Stream, chosen []int, w *Window,
	c *Clock, origin bool, put func(*packets.Packet) error) error {
	var waiting []packets.Packet
	cut := &cutter{tracks: make([]track, len(all)), put: put, clock: c, origin: origin, decodes: w.decodes, wider: w.wider}
	if !origin {
		cut.put = func(p *packets.Packet) error { waiting = append(waiting, *p); return nil }
	}
	flush := func() error {
		for i := range waiting {
			if err := put(&waiting[i]); err != nil {
				return err
			}
		}
		waiting, cut.put = nil, put
		return nil
	}
	for to, i := range chosen {
		s := &all[i]
		t := track{stream: s, first: s, wanted: true, to: to, start: minTime, end: maxTime}
		base := s.TimeBase
		if s.Kind == av.Audio && s.Rate > 0 {
			t.places = places.New(s, c.grids[i], origin)
			base = t.places.One
		}
		if w.Start != nil {
			t.start = ticks(new(big.Rat).Add(c.Zero, w.Start), base)
		}
		if w.End != nil {
			t.end = ticks(new(big.Rat).Add(c.Zero, w.End), base)
		}
		t.cut = origin && c.Cut[i]
		cut.tracks[i] = t
	}
	// A window at the beginning has what is there.
	if w.Start != nil && w.Start.Sign() <= 0 {
		for _, i := range chosen {
			if w.Start.Sign() == 0 && all[i].Kind == av.Audio && c.Begins[i] != nil && c.Begins[i].Cmp(c.Zero) >= 0 {
				cut.tracks[i].start = minTime
			}
		}
	}

	var p packets.Packet
	for n := 0; ; n++ {
		if n%256 == 0 && ctx.Err() != nil {
			return context.Cause(ctx)
		}
		err := r.Read(&p)
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
		if err := cut.take(p); err != nil {
			return err
		}
		if waiting != nil && cut.all(func(t *track) bool { return t.begun || t.done }) {
			if err := flush(); err != nil {
				return err
			}
		}
		if cut.all(func(t *track) bool { return t.done }) {
			break
		}
	}
	return flush()
}

// all reports whether all tracks that are wanted are so.
func (c *cutter) all(so func(*track) bool) bool {
	return !slices.ContainsFunc(c.tracks, func(t track) bool { return t.wanted && !so(&t) })
}
