package coded

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/media/av"
	"github.com/headrace/headrace/media/av/mp4"
	"github.com/headrace/headrace/media/av/mpa"
	"github.com/headrace/headrace/media/av/whole"
	"github.com/headrace/headrace/media/ffmpeg"
	"github.com/headrace/headrace/media/sound"
)

// beginnings are those of files that FFmpeg demuxes. A dot means any byte.
var beginnings = []string{
	"fLaC", "OggS", "\x1A\x45\xDF\xA3", "FORM....AIF", "caff", "FLV\x01", "#!AMR", "wvpk", "\x0B\x77",
	"\x30\x26\xB2\x75\x8E\x66\xCF\x11", "RIFF....AVI ", "\x00\x00\x01\xBA",
	"RIFF....WAVE", "RF64....WAVE", "BW64....WAVE", "riff\x2E\x91\xCF\x11", // of codings that package wav does not know
	"Creative Voice File\x1A", "FORM....8SVX", "FORM....16SV", "PVF1\n", "2BIT", "fap ", " paf", "TTA1", "\x7F\xFE\x80\x01",
	"\x64\xA3.\x00", "\x00.\xA3\x64", // IRCAM
	"HRPKTS\r\n",
}

// Is reports whether a file begins as one that can have coded samples.
func Is(file []byte) bool {
	for _, b := range beginnings {
		if like(file, b) {
			return true
		}
	}
	return isTransport(file) || mp4.Probe(file) || len(file) > 24 && string(file[:4]) == ".snd"
}

// isTransport reports whether a file begins as an MPEG transport stream: as a bare one,
// with times between the packets, as cameras and Blu-ray have it, or with sums against
// errors.
func isTransport(file []byte) bool {
	begins := func(first, apart int) bool { return av.TransportRun(file, first, apart, 2) == 2 }
	return begins(0, 188) || begins(4, 192) || begins(0, 204)
}

func like(file []byte, pattern string) bool {
	if len(file) < len(pattern) {
		return false
	}
	for i := range len(pattern) {
		if pattern[i] != '.' && pattern[i] != file[i] {
			return false
		}
	}
	return true
}

// Open finds the packets of an audio track of a file in memory, which has to stay as it
// is. Tracks are counted from 0 among those with audio; -1 takes the one that the file
// names as default, or the first. The recording must be closed.
func Open(file []byte, o sound.Options) (*Recording, error) {
	if mpa.Probe(file) {
		return openFrames(file, o)
	}
	t, err := contained(file, o)
	return opened(t, err, o)
}

// openFrames is Open of MPEG audio or ADTS.
func openFrames(file []byte, o sound.Options) (*Recording, error) {
	t, err := ofFrames(file, o)
	return opened(t, err, o)
}

// contained is a track of a file with a container.
func contained(file []byte, o sound.Options) (*Track, error) {
	if !mp4.Probe(file) {
		return demuxed(file, o)
	}
	t, err := ofMP4(bytes.NewReader(file), int64(len(file)), o)
	if errors.Is(err, mp4.ErrUnsupported) {
		return demuxed(file, o)
	}
	if err == nil {
		t.data[0] = file
	}
	return t, err
}

func opened(t *Track, err error, o sound.Options) (*Recording, error) {
	if err != nil {
		return nil, fmt.Errorf("sound: %w", said(err))
	}
	t.Decoder.Choice = o.Choice
	r, err := t.open()
	if err != nil {
		return nil, said(err)
	}
	return r, nil
}

// ofFrames is the track of a file of MPEG audio or ADTS.
func ofFrames(file []byte, o sound.Options) (*Track, error) {
	if o.Track > 0 {
		return nil, noTrack(o.Track, 1)
	}
	f, err := mpa.Open(file)
	if err != nil {
		kept, none := mpa.OpenKept(file)
		switch {
		case none == nil && o.Keep:
			f, err = kept, nil
		case none == nil:
			err = fmt.Errorf("%w: %s", err, sound.Remedy)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", media.ErrCorrupt, err)
	}

	h := f.First
	t := &Track{
		Decoder: ffmpeg.Stream{Codec: h.Codec, Audio: true, Rate: h.Rate, Channels: h.Channels},
		Packets: make([]Packet, len(f.Frames)),
		data:    [2][]byte{file}, before: f.Before, after: f.After,
		keep: o.Keep, short: f.Short,
	}
	if h.Codec != "aac" { // whose samples the decoder may double
		t.fixedBy = h.Samples
	}
	for i, frame := range f.Frames {
		t.Packets[i] = Packet{offset: frame.Offset, size: frame.Size}
	}
	return t, nil
}

// demuxed is a track that FFmpeg finds.
func demuxed(file []byte, o sound.Options) (*Track, error) {
	mended := false
	if o.Keep {
		if m := whole.Mended(file); m != nil {
			file, mended = m, true
		}
	}
	f, err := ffmpeg.Demux(file)
	if err == nil && f.Short != nil && !o.Keep {
		err = fmt.Errorf("%w: %s", f.Short, sound.Remedy)
	} else if errors.Is(err, media.ErrTruncated) && !o.Keep && whole.Mended(file) != nil { // all is in one page
		err = fmt.Errorf("%w: %s", err, sound.Remedy)
	}
	if err != nil {
		return nil, err
	}

	return trackOf(f, file, nil, mended, o)
}

// trackOf is a track of a file, which is in memory or elsewhere. One that is mended ends
// with a whole packet.
func trackOf(f *ffmpeg.File, file []byte, elsewhere *sound.Content, mended bool, o sound.Options) (*Track, error) {
	size := int64(len(file))
	if elsewhere != nil {
		size = elsewhere.Size()
	}
	n, err := choose(o.Track, len(f.Tracks), func(i int) *av.Stream { return &f.Tracks[i].Stream })
	if err != nil {
		return nil, err
	}
	from := &f.Tracks[n]
	if from.Damage != nil && !o.Keep {
		return nil, fmt.Errorf("%w: %s", from.Damage, sound.Remedy)
	}
	if from.Codec == "aac" && len(from.Config) > 0 && (f.Format == "wav" || f.Format == "w64") {
		return nil, fmt.Errorf("%w: aac in WAV does not say where its frames are", media.ErrUnsupported)
	}
	t := &Track{
		Decoder: from.Decoding(), Packets: make([]Packet, len(from.Packets)),
		data: [2][]byte{file, f.Extra()}, content: elsewhere, unit: from.TimeBase, cutLast: strings.HasPrefix(f.Format, "mov,"),
		keep: o.Keep, short: f.Short != nil || mended, holed: from.Damage != nil,
	}

	for i := range from.Packets {
		p := &from.Packets[i]
		t.Packets[i] = Packet{offset: p.Offset, size: p.Size, duration: p.Duration}
		if p.Offset >= size {
			t.Packets[i].offset, t.Packets[i].in = p.Offset-size, 1
		}
	}
	if len(t.Packets) > 0 {
		t.Decoder.Codec = Layer(t.Decoder.Codec, t.bytes(&t.Packets[0]))
	}
	if t.short && !mended {
		t.dropCut(f.Format, size)
	}
	for _, trim := range from.Trims {
		t.before += int64(trim.Begin)
		t.after += int64(trim.End)
	}
	if t.before == 0 && t.Decoder.Codec == "opus" {
		t.before = preSkip(t.Decoder.Config)
	}
	return t, nil
}

// dropCut leaves out the last packet of a file of this size that is cut off, if it may be
// a part of one: decoders make noise of that. Of ADPCM, whose packets are many blocks,
// those stay that are whole.
func (t *Track) dropCut(format string, size int64) {
	n := len(t.Packets)
	if n == 0 || pcmBytes[t.Decoder.Codec] > 0 {
		return
	}
	p := &t.Packets[n-1]
	// The few bytes of a packet that is cut off soon may be found in its head.
	const head = 32
	if p.in == 0 && p.offset+int64(p.size)+head < size && format != "mpegts" && format != "mpeg" { // these have packets in pieces
		return
	}
	if block := int32(t.Decoder.Block); block > 0 && p.size >= block && strings.HasPrefix(t.Decoder.Codec, "adpcm_") {
		p.size -= p.size % block
		return
	}
	t.Packets = t.Packets[:n-1]
}

// choose returns the number of the stream that is audio track n of a file.
func choose(n, streams int, stream func(int) *av.Stream) (int, error) {
	var all []int
	for i := range streams {
		if stream(i).Kind == av.Audio {
			all = append(all, i)
		}
	}
	if len(all) == 0 {
		return 0, fmt.Errorf("%w: the file has no audio", media.ErrUnsupported)
	}
	if n >= len(all) {
		return 0, noTrack(n, len(all))
	}
	if n >= 0 {
		return all[n], nil
	}
	for _, i := range all {
		if stream(i).Default {
			return i, nil
		}
	}
	return all[0], nil
}
