package coded

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"sort"

	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/media/ffmpeg"
	"github.com/headrace/headrace/media/sound"
)

// Recording is the samples of a track.
type Recording struct {
	track   *Track
	info    sound.Info
	decoder *ffmpeg.Decoder
	frame   ffmpeg.Frame

	// Which samples packets give, counted from the first that is decoded.
	each   int64   // that many each
	starts []int64 // or where each begins, and where the last ends

	// What is decoded: samples from begin until end.
	decoded    []float32
	begin, end int64

	// Of Opus, whose decoder may be some samples late: see mostLate.
	given int64 // samples of the packets from base on, up to the frame
	fresh bool  // no frame has come that is not for settling

	patch patch // of what is damaged

	room  []byte // for packets of a file that is not in memory
	base  int    // the packet that the decoder began with
	next  int    // the first one that it has not got
	clean int    // packets before this one are for settling
	all   bool   // everything is decoded
}

// kept is how many samples stay decoded after those that were read: those who resample
// read some of them again.
const kept = 1 << 13

// together is how many packets the decoder gets at once.
const together = 32

// settling is how many packets a decoder needs until what it gives is what it would give
// had it begun with the first: 2, unless it is said here.
var settling = map[string]int{"mp3": mostOfMP3, "flac": 0, "alac": 0}

// Frames of MP3 take bytes of those before them: as far back as 511, in its second
// version 255 (ISO/IEC 11172-3 and 13818-3, main_data_begin). The smallest frames have
// some nine bytes of their own.
const (
	mostOfMP3 = 32
	overlap   = 3 // frames until the last one's filters are full
)

// settlingOpus is how many samples a decoder of Opus needs: it converges, and after these
// it is within 1e-5 for all that was measured. They are 60 packets of the usual length.
const settlingOpus = 60 * 960

// Settling is how much a decoder needs before what is wanted of a stream: so many
// packets, and samples.
func Settling(codec string) (packets int, samples int64) {
	if codec == "opus" {
		return 0, settlingOpus
	}
	if n, ok := settling[codec]; ok {
		return n, 0
	}
	if pcmBytes[codec] > 0 {
		return 0, 0
	}
	return 2, 0 // frames overlap with the one before
}

func (t *Track) open() (*Recording, error) {
	if err := Refused(t.Decoder.Codec, t.Decoder.Config); err != nil {
		return nil, fmt.Errorf("sound: %w", err)
	}
	d, err := ffmpeg.NewDecoder(t.Decoder)
	if err != nil {
		return nil, err
	}
	r := &Recording{track: t, decoder: d}
	if err := r.prepare(); err != nil {
		d.Close()
		return nil, err
	}
	return r, nil
}

// prepare finds out what packets decode to, and where their samples are.
func (r *Recording) prepare() error {
	t := r.track
	if len(t.Packets) == 0 {
		return fmt.Errorf("sound: %w: the track has no packets", media.ErrCorrupt)
	}
	packet, err := r.probe()
	if err != nil {
		return err
	}

	each, own, known := t.counts()
	if t.Decoder.Codec == "aac" {
		each, known = r.frame.Sound.Samples, true
	}
	if !known {
		return r.decodeAll()
	}
	if r.each = int64(each); each == 0 {
		r.starts = make([]int64, len(own)+1)
		for i, n := range own {
			r.starts[i+1] = r.starts[i] + int64(n)
		}
	}
	total := r.start(len(t.Packets))
	// The times of a container are of the samples that are coded; AAC with SBR doubles
	// them.
	scale := int64(1)
	if t.Decoder.Codec == "aac" && t.Decoder.Rate > 0 && r.info.Rate == 2*t.Decoder.Rate {
		scale = 2
	}
	t.before *= scale
	if t.cutLast {
		if n := scale * t.declared(); n > 0 {
			t.after += max(0, total-r.start(len(t.Packets)-1)-n)
		}
	}
	r.info.Samples = max(0, total-t.before-t.after)
	if t.keep {
		r.patch.first(r, packet)
		return nil
	}
	n, err := r.checked(packet)
	if err == nil {
		r.append(int(n))
	}
	return err
}

// probe decodes the first frame, which stays in r.frame, and returns its packet.
func (r *Recording) probe() (int, error) {
	for {
		i, err := r.decode(1)
		if err == io.EOF {
			if r.patch.why != nil {
				return 0, r.patch.why
			}
			return 0, r.damaged(len(r.track.Packets)-1, errors.New("no packet gives any samples"))
		}
		if err != nil {
			return 0, err
		}
		s := &r.frame.Sound
		if s.Samples == 0 {
			continue
		}
		r.info = sound.Info{Rate: s.Rate, Channels: s.Channels}
		if s.Layout>>32 == 0 {
			r.info.Mask = uint32(s.Layout)
		}
		if s.Rate <= 0 || s.Channels <= 0 || len(s.Planes) == 0 {
			return 0, r.damaged(i, fmt.Errorf("it gives %d channels of %s at %d samples a second", s.Channels, r.frame.Format, s.Rate))
		}
		return i, nil
	}
}

// mostDecoded bounds what is decoded at once of tracks that have to be decoded from the
// beginning: samples of all channels.
const mostDecoded = 1 << 28

// decodeAll decodes a track whose packets do not say how many samples they give.
func (r *Recording) decodeAll() error {
	r.all = true
	for packet, err := 0, error(nil); err != io.EOF; packet, err = r.decode(len(r.track.Packets)) {
		if err != nil {
			return err
		}
		s := &r.frame.Sound
		if r.changes() && r.track.keep {
			r.patch.lose(packet, r.changed(packet))
			continue
		}
		if r.changes() {
			return r.changed(packet)
		}
		if r.frame.Corrupt {
			err := r.damaged(packet, errors.New("it is damaged"))
			if !r.track.keep {
				return err
			}
			r.patch.why = cmp.Or(r.patch.why, err) // the decoder has patched it up
		}
		r.patch.gave = packet + 1
		r.appendLost()
		if len(r.decoded) > mostDecoded {
			return fmt.Errorf("sound: %w: %s of more than %d samples", media.ErrUnsupported, r.track.Decoder.Codec, mostDecoded)
		}
		r.append(s.Samples)
	}
	// What is lost at the end is not made up: the file may be cut off there.
	r.track.before += wmaDelay(r.track.Decoder.Codec, r.track.Decoder.Rate)
	r.info.Samples = max(0, r.end-r.track.before-r.track.after)
	return nil
}

// Info implements sound.Stream.
func (r *Recording) Info() sound.Info { return r.info }

// Damaged implements sound.Patched.
func (r *Recording) Damaged() bool { return r.track.short || r.track.holed || r.patch.why != nil }

// Close gives back the decoder's memory.
func (r *Recording) Close() { r.decoder.Close() }

// start is where the samples of a packet begin.
func (r *Recording) start(packet int) int64 {
	if r.each > 0 {
		return int64(packet) * r.each
	}
	return r.starts[packet]
}

// packet is the one that has a sample.
func (r *Recording) packet(sample int64) int {
	if r.each > 0 {
		return int(sample / r.each)
	}
	return sort.Search(len(r.starts)-1, func(i int) bool { return r.starts[i+1] > sample })
}

// Read implements sound.Stream.
func (r *Recording) Read(to []float32, from int64) error {
	channels := r.info.Channels
	n := int64(len(to) / channels)
	if from < 0 || from > r.info.Samples-n {
		return fmt.Errorf("sound: samples %d to %d are asked for, of %d", from, from+n, r.info.Samples)
	}
	at := from + r.track.before
	until := at + n
	if n > 0 {
		if err := r.reach(at); err != nil {
			return err
		}
	}

	all := to
	defer func() { r.remember(all[:len(all)-len(to)]) }()
	for at < until {
		if at < r.end {
			k := copy(to, r.decoded[int(at-r.begin)*channels:])
			to, at = to[k:], at+int64(k/channels)
			continue
		}
		more, err := r.more(until)
		if err != nil {
			return err
		}
		if at != r.end || more > until-at { // it begins before what is wanted, or ends after it
			r.remember(all[:len(all)-len(to)])
			r.append(int(more))
			continue
		}
		k := int(more) * channels
		r.floats(to[:k])
		r.end += more
		r.begin, r.decoded = r.end, r.decoded[:0]
		to, at = to[k:], at+more
	}
	return nil
}

// remember keeps the last samples that were read, where none are decoded besides: they
// end where the decoder is.
func (r *Recording) remember(read []float32) {
	if len(r.decoded) > 0 || r.all {
		return
	}
	k := min(len(read), kept*r.info.Channels)
	r.decoded = append(r.decoded, read[len(read)-k:]...)
	r.begin = r.end - int64(k/r.info.Channels)
}

// reach has the decoder begin again, unless a sample is decoded already or comes soon.
func (r *Recording) reach(sample int64) error {
	if r.all || sample >= r.begin && sample <= r.end {
		return nil
	}
	p := r.packet(sample)
	begin := r.settled(p)
	if sample > r.end && begin <= r.next {
		return nil
	}

	if begin == 0 && r.track.Decoder.Codec == "aac" { // a reset leaves the form of the last window
		r.decoder.Close()
		d, err := ffmpeg.NewDecoder(r.track.Decoder)
		if err != nil {
			return err
		}
		r.decoder = d
	} else {
		r.decoder.Reset()
	}
	r.base, r.next, r.clean = begin, begin, p
	r.given, r.fresh = 0, true
	if begin == 0 {
		r.clean = 0
	}
	r.patch = patch{why: r.patch.why}
	r.decoded = r.decoded[:0]
	r.begin = r.start(r.clean)
	r.end = r.begin
	return nil
}

// settled is the packet with which decoding begins for the sake of another.
func (r *Recording) settled(packet int) int {
	packets, samples := Settling(r.track.Decoder.Codec)
	if samples > 0 {
		return r.packet(max(0, r.start(packet)-samples))
	}
	begin := max(0, packet-packets)
	if r.track.Decoder.Codec == "mp3" {
		begin = max(begin, r.reservoir(max(0, packet-overlap)))
	}
	return begin
}

// reservoir is the frame of MP3 from which on there are all bytes that a frame may take
// of those before it.
func (r *Recording) reservoir(frame int) int {
	wanted, head := int32(511), int32(4+2+17)
	if r.info.Channels > 1 {
		head += 15
	}
	if r.info.Rate < 32000 {
		wanted, head = 255, head-8
	}
	for frame > 0 && wanted > 0 {
		frame--
		wanted -= max(0, r.track.Packets[frame].size-head)
	}
	return frame
}

// more decodes the packet that follows what is decoded, and returns how many samples it
// gives.
func (r *Recording) more(until int64) (n int64, err error) {
	if r.track.keep {
		return r.patched(until)
	}
	last := min(r.packet(until-1), len(r.track.Packets)-1) + 1
	i, err := r.decode(last)
	if err == io.EOF {
		err = r.damaged(len(r.track.Packets)-1, fmt.Errorf("%d samples are missing at the end", until-r.end))
	}
	if err != nil {
		return 0, err
	}
	return r.checked(i)
}

// mostLate is how many samples FFmpeg's decoder of Opus is late at most, in those that
// have another rate inside: the first packet gives fewer, and after the last some are
// left.
const mostLate = 120

// placed returns where the samples of the frame are, which is of packet i, and how many
// there should be.
func (r *Recording) placed(i int) (begin, n int64) {
	s := &r.frame.Sound
	begin, n = r.start(i), r.start(i+1)-r.start(i)
	if r.track.Decoder.Codec == "opus" && !r.all && len(s.Planes) > 0 {
		begin = r.start(r.base) + r.given - int64(s.Samples)
		if r.fresh {
			r.begin, r.end, r.fresh = begin, begin, false
		}
		if late := r.start(i+1) - begin - int64(s.Samples); late >= 0 && late <= mostLate {
			n = int64(s.Samples)
		}
	}
	return begin, n
}

// changes reports whether the frame is of another kind than those before.
func (r *Recording) changes() bool {
	s := &r.frame.Sound
	return s.Rate != r.info.Rate || s.Channels != r.info.Channels || len(s.Planes) == 0
}

// checked returns how many samples of the frame count, which is of packet i, if they are
// those that should come next.
func (r *Recording) checked(i int) (n int64, err error) {
	s := &r.frame.Sound
	begin, n := r.placed(i)
	switch {
	case r.frame.Corrupt:
		return 0, r.damaged(i, errors.New("it is damaged"))
	case r.changes():
		return 0, r.changed(i)
	case begin != r.end:
		return 0, r.damaged(i, fmt.Errorf("%d samples are missing before it", begin-r.end))
	case int64(s.Samples) < n || int64(s.Samples) > n && i < len(r.track.Packets)-1:
		return 0, r.damaged(i, fmt.Errorf("it has %d samples and should have %d", s.Samples, n))
	}
	return n, nil
}

// append keeps the first n samples of the frame.
func (r *Recording) append(n int) {
	channels := r.info.Channels
	if have := len(r.decoded) / channels; have > 4*kept && !r.all {
		drop := have - kept
		r.decoded = r.decoded[:copy(r.decoded, r.decoded[drop*channels:])]
		r.begin += int64(drop)
	}
	have, more := len(r.decoded), n*channels
	r.decoded = slices.Grow(r.decoded, more)[:have+more]
	r.floats(r.decoded[have:])
	r.end += int64(n)
}

// decode decodes until a frame comes that is not for settling, and returns which packet
// it is of. The decoder gets packets up to last, or more if it needs them.
func (r *Recording) decode(last int) (packet int, err error) {
	packet = r.base

	for {
		err := r.decoder.Next(&r.frame)
		bad := (*ffmpeg.PacketError)(nil)
		switch {
		case errors.Is(err, ffmpeg.ErrNeeds):
			if err := r.feed(last); err != nil {
				return 0, err
			}
			continue
		case errors.As(err, &bad):
			if packet = r.base + bad.Packet; packet < r.clean {
				r.given = r.start(packet+1) - r.start(r.base)
				continue
			}
			err = r.damaged(packet, bad.Err)
			if r.track.keep && !errors.Is(err, media.ErrMemory) {
				r.lost(packet, err)
				continue
			}
			return 0, err
		case err != nil:
			return 0, err
		}
		if packet++; r.frame.Packet >= 0 {
			packet = r.base + r.frame.Packet
		} else if r.next == len(r.track.Packets) { // what is left after the last
			packet = r.next - 1
		}
		r.given += int64(r.frame.Sound.Samples)
		if packet >= r.clean {
			return min(packet, len(r.track.Packets)-1), nil
		}
	}
}

// feed gives the decoder packets that are in the same memory.
func (r *Recording) feed(last int) error {
	all := r.track.Packets
	last = min(max(last, r.next+1), r.next+together, len(all))
	var packets [together]ffmpeg.Packet
	n, in := 0, all[r.next].in
	for _, p := range all[r.next:last] {
		if p.in != in {
			break
		}
		packets[n] = ffmpeg.Packet{Offset: int(p.offset), Size: int(p.size), Key: true}
		n++
	}
	data := r.track.data[in]
	if r.track.content != nil && in == 0 {
		var err error
		if r.room, err = r.track.read(packets[:n], r.room); err != nil {
			if errors.Is(err, media.ErrCorrupt) {
				err = r.damaged(r.next, err)
			}
			return err
		}
		data = r.room
	}
	r.next += n
	return r.decoder.Feed(data, packets[:n], r.next == len(all))
}

// changed is the error of a packet with which the recording becomes another.
func (r *Recording) changed(packet int) error {
	s := &r.frame.Sound
	return r.damaged(packet, fmt.Errorf("%d channels at %d samples a second become %d at %d",
		r.info.Channels, r.info.Rate, s.Channels, s.Rate))
}

// damaged is the error of a packet.
func (r *Recording) damaged(packet int, err error) error {
	at := ""
	if (r.each > 0 || r.starts != nil) && r.info.Rate > 0 {
		at = fmt.Sprintf(", at %.3f s", float64(r.start(packet)-r.track.before)/float64(r.info.Rate))
	}
	if !errors.Is(err, media.ErrCorrupt) && !errors.Is(err, media.ErrUnsupported) && !errors.Is(err, media.ErrMemory) {
		err = fmt.Errorf("%w: %w", media.ErrCorrupt, err)
	}
	err = fmt.Errorf("sound: packet %d of %s%s: %w", packet, r.track.Decoder.Codec, at, said(err))
	if r.track.keep {
		return err
	}
	return fmt.Errorf("%w: %s", err, sound.Remedy)
}
