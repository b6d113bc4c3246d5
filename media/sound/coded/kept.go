package coded

import (
	"errors"
	"fmt"
	"io"

	"github.com/headrace/headrace/media/av/joined"
	"github.com/headrace/headrace/media/av/mp4"
	"github.com/headrace/headrace/media/ffmpeg"
	"github.com/headrace/headrace/media/sound"
)

// large begin files of containers for video, besides MP4 and MPEG-TS: films are not read
// to memory for the sake of their sound.
var large = []string{"\x1A\x45\xDF\xA3", "FLV\x01", "RIFF....AVI ", "\x30\x26\xB2\x75\x8E\x66\xCF\x11", "\x00\x00\x01\xBA"}

// InPlace reports whether [OpenKept] opens files of this kind.
func InPlace(file sound.File) (bool, error) {
	var head [256]byte
	n, err := file.ReadAt(head[:], 0)
	if err != nil && err != io.EOF {
		return false, err
	}
	is := mp4.Probe(head[:n]) || isTransport(head[:n])
	for _, begins := range large {
		is = is || like(head[:n], begins)
	}
	return is && len(joined.Chain(file, file.Size())) == 1, nil
}

// OpenKept opens a track of a file, with [sound.Options.Keep], that is not in memory: its
// packets are found, and read when they are decoded. Other files than those that
// [InPlace] knows have to be in memory. The recording must be closed.
func OpenKept(file interface {
	sound.File
	Descriptor() int
}, o sound.Options) (*Recording, error) {
	o.Keep = true
	content := sound.OnDisk(file, together<<10)
	var head [16]byte
	n, _ := file.ReadAt(head[:], 0)
	t, err := (*Track)(nil), error(mp4.ErrUnsupported)
	if mp4.Probe(head[:n]) {
		t, err = ofMP4(file, file.Size(), o)
	}
	if errors.Is(err, mp4.ErrUnsupported) {
		f, wrong := ffmpeg.DemuxFile(file)
		if err = wrong; err == nil {
			t, err = trackOf(f, nil, content, false, o)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("sound: %w", said(err))
	}
	t.content = content
	return opened(t, nil, o)
}
